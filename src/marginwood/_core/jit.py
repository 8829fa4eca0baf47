"""Compilation policy, and intrinsics: with `compiler.py` the only module that imports numba.

What is imported at the top are numba's published interfaces. Its internals are in `compiler.py`,
and in methods whose failure costs time, not results.

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
import pickle
import platform
import sys
from contextlib import suppress
from functools import cache, partial
from pathlib import Path

import llvmlite
import numba
import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.extending import intrinsic, models, overload, register_model  # noqa: F401 - for `lanes`

from marginwood._core.cache import (
    Store,
    digest,
    digest_core,
    digest_files,
    user_folder,
)
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


class Constant(int):
    """An integer that is part of a kernel's type: each of its values has a kernel of its own, without the others' code.

    Kernels can compare it to another constant, and pass it on. Where numba has no room for such
    types it is an integer like any other.
    """

    def __new__(cls, value, label):
        """`label` is what a user calls it; it may be empty."""
        self = super().__new__(cls, value)
        self.label = label
        return self

    def __getnewargs__(self):
        return int(self), self.label


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
        with suppress(Exception):  # whatever is wrong with it, it can be made again
            from numba.core.compiler import CompileResult

            target_context.refresh()
            kept = _store().read(self._name(sig, target_context.codegen()))
            if kept is not None:
                return CompileResult._rebuild(target_context, *pickle.loads(kept))
        _shortcuts.tell()
        _notices.compiling(self._purpose(sig))
        return None

    def save_overload(self, sig, data):
        """Keep a kernel, if that is possible."""
        if not _notices.are_kept:
            return
        try:
            from numba.core import serialize

            _store().write(self._name(sig, data.codegen), serialize.dumps(data._reduce()))
        except Exception as error:  # the disk, or a numba that keeps kernels in another way
            _notices.not_kept("kernels have been compiled", error)

    def _purpose(self, signature):
        members = [member for kind in signature for member in getattr(kind, "types", (kind,))]
        labels = [getattr(getattr(kind, "constant", None), "label", "") for kind in members]
        return " with ".join([purpose_of(self._function), *filter(None, labels)])

    def flush(self):
        """Nothing waits to be written."""


POLICY = {"nogil": True, "error_model": "numpy"}
# Options that are not numba's published ones.
FASTER = {"no_cfunc_wrapper": True}
PART = {**FASTER, "no_cpython_wrapper": True}


class _Shortcuts:
    """What `compiler` changes about numba, as long as this numba has room for it."""

    def __init__(self):
        self._problem = None  # why they are not taken
        self._is_tried = False
        self._module = None
        try:
            from marginwood._core import compiler

            for options in (FASTER, PART, {"_nrt": False, "pipeline_class": partial}):
                njit(**options)(_give)
            compiler.protect_forks()
            compiler.register_constants(Constant)
        except Exception as error:  # whatever is missing, or is something else
            self._problem = error
        else:
            self._module = compiler

    def options(self, name, **more):
        """The options that compile a function with `name` of the module."""
        if self._module is None:
            return POLICY
        return {**POLICY, **more, "pipeline_class": partial(self._begin, name)}

    def _begin(self, name, typing_context, target_context, library, args, returned, flags, names):
        """The compiler for one function, which numba takes for a class."""
        rest = target_context, library, args, returned, flags, names
        if self._are_usable():
            return getattr(self._module, name)(typing_context, *rest)
        from numba.core.compiler import Compiler

        flags.nrt = True  # its code may be such as counts references
        return Compiler(typing_context, *rest)

    def _are_usable(self):
        """Whether this numba compiles a small kernel as it should; kernels are compiled one at a time."""
        if not self._is_tried:
            self._is_tried = True
            try:
                _try_out(self._module)
            except Exception as error:
                self._problem = error
                self.tell()
        return self._problem is None

    def tell(self):
        """Say why compiling takes longer, if it does."""
        if self._problem is not None:
            _notices.without_shortcuts(f"numba {numba.__version__}", self._problem)


def _give(number):
    return number


def _try_out(compiler):
    """Raise unless a kernel that needs every shortcut can be compiled and is right."""
    wanted = Constant(1, "trial")

    @njit(**POLICY, **PART, forceinline=False, pipeline_class=compiler.PartCompiler)
    def least(a, b):
        return min(a, b)

    @njit(**POLICY, **FASTER, _nrt=False, pipeline_class=compiler.KernelCompiler)
    def trial(kind, numbers):
        if kind == wanted:
            return least(max(numbers[0], numbers[1]), numbers[2])
        return numbers.is_not_compiled

    found = trial(Constant(1, "trial"), np.array([1.0, 3.0, 2.0]))
    if found != 2.0:
        raise AssertionError(f"a kernel gives {found} instead of 2.0")


_shortcuts = None if config.DISABLE_JIT else _Shortcuts()


def kernel(function, **options):
    """Decorate a kernel that Python calls."""
    if config.DISABLE_JIT:
        return function
    dispatcher = njit(**_shortcuts.options("KernelCompiler", **FASTER, **options))(function)
    dispatcher._cache = _KeptKernel(function)
    return dispatcher


def filling(function):
    """Decorate a kernel that Python calls and that makes no arrays."""
    return kernel(function, _nrt=False)


def _part(**options):
    """A decorator of functions that kernels call."""
    if config.DISABLE_JIT:
        return lambda function: function
    return njit(**_shortcuts.options("PartCompiler", **PART), **options)


# A function inherits `forceinline` from the one that calls it first, unless it has its own.
inner = _part(forceinline=False)
inlined = _part(forceinline=True)
folded = _part(inline="always")


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
