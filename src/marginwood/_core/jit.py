"""Compilation policy, and intrinsics: with `compiler.py` the only module that imports numba.

Five decorators, one policy: compiled on first use, without the GIL, with NumPy's rules for
division. They differ in who calls the function:

========  ===========================================================================================
kernel    Python; kept on disk for later runs
filling   the same, for one that only fills arrays: it counts no references, and compiles a tenth faster
inner     kernels only
inlined   the loop of a kernel: it becomes part of it, and its state stays in registers
folded    one kernel, once: it is compiled as part of that kernel, not twice
========  ===========================================================================================

With ``NUMBA_DISABLE_JIT=1`` all run as plain Python, and the intrinsics below fall back to Python
integers. An integer literal as an argument makes numba compile the callee once more for that
literal: pass ``np.int64(0)``. ``min`` and ``max`` take two numbers in kernels.
"""

import inspect
import operator
import os
import pickle
import platform
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path

import llvmlite
import numba
import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core import serialize
from numba.core.compiler import CompileResult
from numba.core.compiler_lock import global_compiler_lock
from numba.core.imputils import lower_constant
from numba.extending import (
    NativeValue,
    intrinsic,
    models,
    overload,
    register_model,
    typeof_impl,
    unbox,
)

from marginwood._core.cache import (
    Store,
    UnusableError,
    digest,
    digest_core,
    digest_files,
    user_folder,
)
from marginwood._core.compiler import Constant, ConstantType, KernelCompiler, PartCompiler
from marginwood._core.notices import Notices, purpose_of

# The settings of numba that change machine code.
SETTINGS = (
    "BOUNDSCHECK",
    "DEBUGINFO_DEFAULT",
    "LLVM_REFPRUNE_PASS",
    "LOOP_VECTORIZE",
    "OPT",
    "SLP_VECTORIZE",
)


@cache
def _store():
    """Where the kernels of this process are kept; NUMBA_CACHE_DIR goes before the user's folder."""
    settings = [(name, str(getattr(config, name))) for name in SETTINGS]
    versions = numba.__version__, llvmlite.__version__, np.__version__, sys.implementation.cache_tag
    name = digest(
        digest_core().encode(),
        repr((versions, sys.platform, platform.machine(), settings)).encode(),
    )
    root = Path(config.CACHE_DIR) if config.CACHE_DIR else user_folder()
    return Store(root / "marginwood" / name)


_notices = Notices(_store)


class _KeptKernel:
    """The compiled forms of one kernel on disk, in place of numba's own cache.

    That one looks at the file of a kernel only, not at those of the functions that become part of
    it, and is tied to the path of the installation; a damaged file or a full disk is an error to
    it.
    """

    cache_path = None

    def __init__(self, function):
        self._function = function

    def _name(self, signature, codegen):
        function = self._function
        own = (
            digest_files(Path(inspect.getfile(function))),
            function.__qualname__,
            function.__code__.co_firstlineno,
        )
        return f"{function.__name__}-{digest(repr((own, str(signature), codegen.magic_tuple())).encode())}"

    def load_overload(self, sig, target_context):
        """The compiled kernel, or None after saying that it will be compiled."""
        target_context.refresh()
        with suppress(Exception):  # whatever is wrong with it, it can be made again
            kept = _store().read(self._name(sig, target_context.codegen()))
            if kept is not None:
                return CompileResult._rebuild(target_context, *pickle.loads(kept))
        _notices.compiling(self._purpose(sig))
        return None

    def save_overload(self, sig, data):
        """Keep a kernel, if that is possible."""
        for env in data._find_referenced_environments():
            data.codegen.set_env(env.env_name, env)  # those of its parts
        if not _notices.are_kept:
            return
        try:
            _store().write(self._name(sig, data.codegen), serialize.dumps(data._reduce()))
        except UnusableError as error:
            _notices.not_kept("kernels have been compiled", error)

    def _purpose(self, signature):
        members = [member for kind in signature for member in getattr(kind, "types", (kind,))]
        labels = [member.constant.label for member in members if isinstance(member, ConstantType)]
        return " with ".join([purpose_of(self._function), *filter(None, labels)])

    def flush(self):
        """Nothing waits to be written."""


if hasattr(os, "register_at_fork"):
    # A process that is forked while a thread compiles would wait for ever for that thread, which it
    # does not have.
    acquire = global_compiler_lock.acquire
    release = global_compiler_lock.release
    os.register_at_fork(before=acquire, after_in_parent=release, after_in_child=release)

POLICY = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
PART = {**POLICY, "no_cpython_wrapper": True, "pipeline_class": PartCompiler}


def kernel(function, **options):
    """Decorate a kernel that Python calls."""
    dispatcher = njit(**POLICY, **options, pipeline_class=KernelCompiler)(function)
    if not config.DISABLE_JIT:
        dispatcher._cache = _KeptKernel(function)
    return dispatcher


def filling(function):
    """Decorate a kernel that Python calls and that makes no arrays."""
    return kernel(function, _nrt=False)


# A function inherits `forceinline` from the one that calls it first, unless it has its own.
inner = njit(**PART, forceinline=False)
inlined = njit(**PART, forceinline=True)
folded = njit(**PART, inline="always")


# What `lanes` needs of numba.
DISABLE_JIT = bool(config.DISABLE_JIT)

# How many steps ahead a loop asks for what it will read at random.
PREFETCH_DISTANCE = 16

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
    register_model(ConstantType)(models.OpaqueModel)

    @typeof_impl.register(Constant)
    def _type_of_constant(constant, context):
        return ConstantType(constant)

    @unbox(ConstantType)
    def _unbox_constant(kind, value, c):
        return NativeValue(c.context.get_dummy_value())

    @lower_constant(ConstantType)
    def _lower_constant(context, builder, kind, value):
        return context.get_dummy_value()

    def _overload_comparison(operation):
        @overload(operation)
        def compare(a, b):
            if not isinstance(a, ConstantType) or not isinstance(b, ConstantType):
                return None
            result = operation(a.constant, b.constant)

            def give(a, b):
                return result

            return give

    _overload_comparison(operator.eq)
    _overload_comparison(operator.ne)

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
            function = builder.module.declare_intrinsic(
                "llvm.prefetch", [byte_pointer.type], function_type
            )
            builder.call(
                function,
                [byte_pointer, ir.Constant(word, 0), ir.Constant(word, 3), ir.Constant(word, 1)],
            )
            return context.get_dummy_value()

        return types.void(array, types.intp), codegen

    @intrinsic
    def borrow(typingctx, array):
        """The same array without reference counting, valid while its owner lives.

        Passing an array to a function costs two atomic operations: 100 ns per interval in a sweep,
        ten times the work itself. A kernel borrows only its own arguments: their owners outlive it.
        """

        def codegen(context, builder, signature, args):
            make = context.make_array(array)
            owned = make(context, builder, args[0])
            view = make(context, builder)
            for field in ("nitems", "itemsize", "data", "shape", "strides"):
                setattr(view, field, getattr(owned, field))
            view.meminfo = context.get_constant_null(types.voidptr)
            view.parent = context.get_constant_null(types.pyobject)
            return view._getvalue()

        return array(array), codegen
