"""Compilation policy: the only module that imports numba.

Four decorators, one policy: compiled on first use, cached on disk, without the GIL, with NumPy's rules for
division. They differ in who calls the function:

========  ===========================================================================================
kernel    Python, and kernels
inner     kernels only: without the wrapper for Python it compiles faster (a cold first fit: 11 s, not 14)
inlined   the loop of a kernel: it becomes part of it, and its state stays in registers
folded    one kernel, once: it is compiled as part of that kernel, not twice (11 s, not 19)
========  ===========================================================================================

With ``NUMBA_DISABLE_JIT=1`` all run as plain Python, and the intrinsics below fall back to Python integers.
An integer literal as an argument makes numba compile the callee once more for that literal: pass ``np.int64(0)``.
"""

import sys

from llvmlite import ir
from numba import config, njit, types
from numba.core import event
from numba.extending import intrinsic

POLICY = {"nogil": True, "cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}

kernel = njit(**POLICY)
inner = njit(**POLICY, no_cpython_wrapper=True)
inlined = njit(**POLICY, no_cpython_wrapper=True, forceinline=True)
folded = njit(**POLICY, no_cpython_wrapper=True, inline="always")

# How many steps ahead a loop asks for what it will read at random.
PREFETCH_DISTANCE = 16


class _CompileNotice(event.Listener):
    """Says once per process, on stderr, that kernels are being compiled."""

    said = False

    def on_start(self, occurrence):
        dispatcher = occurrence.data["dispatcher"]
        if not self.said and dispatcher.py_func.__module__.startswith("marginwood."):
            _CompileNotice.said = True
            message = "marginwood: compiling kernels (once per machine, some seconds)"
            print(message, file=sys.stderr, flush=True)

    def on_end(self, occurrence):
        """Compilation ends silently."""


if config.DISABLE_JIT:

    def trailing_zeros(word):
        """Number of zero bits below the lowest set bit of a non-zero 64-bit word."""
        return (int(word) & -int(word)).bit_length() - 1

    def leading_zeros(word):
        """Number of zero bits above the highest set bit of a non-zero 64-bit word."""
        return 64 - int(word).bit_length()

    def prefetch(array, idx):
        """Nothing to do outside compiled code."""

    def borrow(array):
        """The array itself."""
        return array

else:
    event.register("numba:compile", _CompileNotice())

    @intrinsic
    def trailing_zeros(typingctx, word):
        """Number of zero bits below the lowest set bit of a non-zero 64-bit word."""

        def codegen(context, builder, signature, args):
            count = builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))
            return context.cast(builder, count, types.uint64, types.int64)

        return types.int64(types.uint64), codegen

    @intrinsic
    def leading_zeros(typingctx, word):
        """Number of zero bits above the highest set bit of a non-zero 64-bit word."""

        def codegen(context, builder, signature, args):
            count = builder.ctlz(args[0], ir.Constant(ir.IntType(1), 1))
            return context.cast(builder, count, types.uint64, types.int64)

        return types.int64(types.uint64), codegen

    @intrinsic
    def prefetch(typingctx, array, idx):
        """Ask the processor to bring ``array[idx]`` into its cache."""

        def codegen(context, builder, signature, args):
            array_type, _ = signature.args
            layout = context.make_array(array_type)(context, builder, args[0])
            pointer = builder.gep(layout.data, [args[1]])
            byte_pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
            word = ir.IntType(32)
            function_type = ir.FunctionType(ir.VoidType(), [byte_pointer.type, word, word, word])
            function = builder.module.declare_intrinsic("llvm.prefetch", [byte_pointer.type], function_type)
            builder.call(function, [byte_pointer, ir.Constant(word, 0), ir.Constant(word, 3), ir.Constant(word, 1)])
            return context.get_dummy_value()

        return types.void(array, types.intp), codegen

    @intrinsic
    def borrow(typingctx, array):
        """The same array without reference counting, valid while its owner lives.

        Passing an array to a function costs two atomic operations: 100 ns per interval in a sweep, ten
        times the work itself. A kernel borrows only its own arguments: their owners outlive it.
        """

        def codegen(context, builder, signature, args):
            make = context.make_array(array)
            owned, view = make(context, builder, args[0]), make(context, builder)
            for field in ("nitems", "itemsize", "data", "shape", "strides"):
                setattr(view, field, getattr(owned, field))
            view.meminfo = context.get_constant_null(types.voidptr)
            view.parent = context.get_constant_null(types.pyobject)
            return view._getvalue()

        return array(array), codegen
