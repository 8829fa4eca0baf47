"""Lanes: eight numbers that are added, multiplied and compared at once.

LLVM unrolls a loop over eight numbers before it would think of vectors. Numbers that are lanes from
the start become vector instructions of any width, and stay in registers from one turn of a loop to
the next.
"""

import operator

import numpy as np

from marginwood._core.jit import DISABLE_JIT, intrinsic, ir, models, overload, register_model, types

N_LANES = 8

if DISABLE_JIT:

    def load(array, at):
        """The lanes of an array from a position on, counted in numbers."""
        return array.reshape(-1)[at : at + N_LANES].copy()

    def store(array, at, lanes):
        """Write lanes to an array from a position on."""
        array.reshape(-1)[at : at + N_LANES] = lanes

    def spread(number):
        """The same number in all lanes."""
        return np.full(N_LANES, number)

    def lower_of(a, b):
        """The lower number of two, in every lane."""
        return np.minimum(a, b)

    def total(lanes):
        """The sum of all lanes: pairs that are four apart first, then two, then one."""
        four = lanes[:4] + lanes[4:]
        return (four[0] + four[2]) + (four[1] + four[3])

    def _picker(places):
        return lambda lanes: lanes[list(places)]

else:
    VECTOR = ir.VectorType(ir.DoubleType(), N_LANES)
    PLACES = ir.VectorType(ir.IntType(32), N_LANES)

    class _LanesType(types.Type):
        def __init__(self):
            super().__init__("lanes")

    LANES = _LanesType()

    @register_model(_LanesType)
    class _LanesModel(models.PrimitiveModel):
        def __init__(self, manager, kind):
            super().__init__(manager, kind, VECTOR)

    def _pointer(context, builder, kind, array, at):
        data = context.make_array(kind)(context, builder, array).data
        return builder.bitcast(builder.gep(data, [at]), VECTOR.as_pointer())

    def _shuffle(builder, lanes, places):
        mask = ir.Constant(ir.VectorType(ir.IntType(32), len(places)), places)
        return builder.shuffle_vector(lanes, ir.Constant(lanes.type, ir.Undefined), mask)

    @intrinsic
    def load(typingctx, array, at):
        """The lanes of an array from a position on, counted in numbers."""

        def codegen(context, builder, signature, args):
            return builder.load(_pointer(context, builder, signature.args[0], *args), align=8)

        return LANES(array, types.int64), codegen

    @intrinsic
    def store(typingctx, array, at, lanes):
        """Write lanes to an array from a position on."""

        def codegen(context, builder, signature, args):
            builder.store(
                args[2], _pointer(context, builder, signature.args[0], *args[:2]), align=8
            )
            return context.get_dummy_value()

        return types.void(array, types.int64, lanes), codegen

    @intrinsic
    def spread(typingctx, number):
        """The same number in all lanes."""

        def codegen(context, builder, signature, args):
            none = ir.Constant(VECTOR, ir.Undefined)
            one = builder.insert_element(none, args[0], ir.Constant(ir.IntType(32), 0))
            return _shuffle(builder, one, [0] * N_LANES)

        return LANES(types.float64), codegen

    @intrinsic
    def lower_of(typingctx, a, b):
        """The lower number of two, in every lane."""

        def codegen(context, builder, signature, args):
            return builder.select(builder.fcmp_ordered("<", *args), *args)

        return LANES(a, b), codegen

    @intrinsic
    def total(typingctx, lanes):
        """The sum of all lanes: pairs that are four apart first, then two, then one."""

        def codegen(context, builder, signature, args):
            (lanes,) = args
            for half in (4, 2, 1):
                front = _shuffle(builder, lanes, list(range(half)))
                lanes = builder.fadd(front, _shuffle(builder, lanes, list(range(half, 2 * half))))
            return builder.extract_element(lanes, ir.Constant(ir.IntType(32), 0))

        return types.float64(lanes), codegen

    def _picker(places):
        @intrinsic
        def pick(typingctx, lanes):
            def codegen(context, builder, signature, args):
                return _shuffle(builder, args[0], list(places))

            return LANES(lanes), codegen

        return pick

    def _define(operation, method):
        @intrinsic
        def compute(typingctx, a, b):
            def codegen(context, builder, signature, args):
                return getattr(builder, method)(*args)

            return LANES(a, b), codegen

        @overload(operation)
        def choose(a, b):
            if a is not LANES or b is not LANES:
                return None
            return lambda a, b: compute(a, b)

    for _operation, _method in (
        (operator.add, "fadd"),
        (operator.sub, "fsub"),
        (operator.mul, "fmul"),
    ):
        _define(_operation, _method)

# All pairs of one of the first four lanes and one of the last four, in two halves.
first_pairs = _picker((0, 0, 0, 0, 1, 1, 1, 1))
second_pairs = _picker((2, 2, 2, 2, 3, 3, 3, 3))
with_last = _picker((4, 5, 6, 7, 4, 5, 6, 7))
