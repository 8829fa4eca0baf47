"""How numba compiles kernels and their parts: its own compiler, with less to do.

Numba's compiler is made for any function. These are written for it, few in kind and many in number,
and what a first fit waits for is mostly Python: passes over code, and types of calls that have been
found before.

All of it leans on parts of numba that may change from one release to the next. So `jit` does
without this module if it cannot be imported, or if what it compiles is not what it should be: then
numba's own compiler has all to do.
"""

import gc
import operator
import os
from functools import cache, partial

from llvmlite import binding as llvm
from numba import types
from numba.core import ir as numba_ir
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import FunctionPass, register_pass
from numba.core.imputils import lower_constant
from numba.core.ir_utils import build_definitions, get_definition, guard
from numba.core.typing import Context
from numba.core.untyped_passes import InlineInlinables, WithLifting
from numba.extending import (
    NativeValue,
    intrinsic,
    models,
    overload,
    register_model,
    typeof_impl,
    unbox,
)

# Passes that look for closures and for arithmetic of whole arrays: kernels have none, which takes
# 0.3 s to find out.
NOT_NEEDED = ("InlineClosureLikes", "NopythonRewrites")


class ConstantType(types.Opaque):
    """The type of one constant."""

    def __init__(self, constant):
        super().__init__(f"constant({int(constant)}: {constant.label})")
        self.constant = constant


def register_constants(cls):
    """Give each constant of a class a type of its own, whose values take no room and compare by type."""
    register_model(ConstantType)(models.OpaqueModel)

    @unbox(ConstantType)
    def unbox_constant(kind, value, c):
        return NativeValue(c.context.get_dummy_value())

    @lower_constant(ConstantType)
    def lower(context, builder, kind, value):
        return context.get_dummy_value()

    def overload_comparison(operation):
        @overload(operation)
        def compare(a, b):
            if not isinstance(a, ConstantType) or not isinstance(b, ConstantType):
                return None
            result = operation(a.constant, b.constant)

            def give(a, b):
                return result

            return give

    overload_comparison(operator.eq)
    overload_comparison(operator.ne)

    @typeof_impl.register(cls)  # the last step: without the others constants stay integers
    def type_of(constant, context):
        return ConstantType(constant)


def protect_forks():
    """Fork no process while a thread compiles: it would wait for ever for that thread, which it does not have."""
    if hasattr(os, "register_at_fork"):
        acquire = global_compiler_lock.acquire
        release = global_compiler_lock.release
        os.register_at_fork(before=acquire, after_in_parent=release, after_in_child=release)


class _Replace(FunctionPass):
    """Puts other values in the place of some that are assigned."""

    def __init__(self):
        super().__init__()

    def run_pass(self, state):
        blocks = state.func_ir.blocks
        for block in blocks.values():
            for assignment in block.find_insts(numba_ir.Assign):
                assignment.value = self._in_place_of(state, assignment.value)
        state.func_ir._definitions = build_definitions(blocks)
        return True


@register_pass(mutates_CFG=False, analysis_only=False)
class _NameConstants(_Replace):
    """Puts constants where the types of the arguments imply them, so that numba prunes what is for others."""

    _name = "marginwood_constants"

    def _in_place_of(self, state, value):
        kind = self._kind_of(state, value)
        return numba_ir.Const(kind.constant, value.loc) if isinstance(kind, ConstantType) else value

    def _kind_of(self, state, value):
        """The type of an argument, or of a field of one; None for anything else."""
        if isinstance(value, numba_ir.Arg):
            return state.args[value.index]
        if isinstance(value, numba_ir.Expr) and value.op == "getattr":
            owner = self._kind_of(state, guard(get_definition, state.func_ir, value.value))
            if isinstance(owner, types.NamedTuple) and value.attr in owner.fields:
                return owner.types[owner.fields.index(value.attr)]
        return None


def _select(typingctx, a, b, comparison):
    """An intrinsic that gives the second of two numbers if it compares to the first, which is Python's rule for NaN."""
    kind = typingctx.unify_types(a, b)

    def codegen(context, builder, signature, args):
        first, second = args
        compare = context.get_function(comparison, types.boolean(kind, kind))
        return builder.select(compare(builder, (second, first)), second, first)

    return kind(kind, kind), codegen


@intrinsic
def _least(typingctx, a, b):
    return _select(typingctx, a, b, operator.lt)


@intrinsic
def _greatest(typingctx, a, b):
    return _select(typingctx, a, b, operator.gt)


@register_pass(mutates_CFG=False, analysis_only=False)
class _NameExtremes(_Replace):
    """Makes one instruction of a `min` or `max`, which takes two numbers in kernels.

    To numba each of them is a function to compile for every pair of types, and again for every kind
    of caller: twelve in a first fit.
    """

    _name = "marginwood_extremes"

    def _in_place_of(self, _, value):
        if not isinstance(value, numba_ir.Global) or (
            value.value is not min and value.value is not max
        ):
            return value
        return numba_ir.Global(value.name, _least if value.value is min else _greatest, value.loc)


class _Function(types.Function):
    """A function of numba's library or an operator; lowering asks it again what inference has asked."""

    def get_call_type(self, context, args, kws):
        find = super().get_call_type
        if kws or not isinstance(context, _Typing):
            return find(context, args, kws)
        return context.remember((self, tuple(args)), lambda: find(context, args, kws))


register_model(_Function)(models.OpaqueModel)


class _Typing(Context):
    """Numba's typing context, with a memory of the calls that it has resolved.

    Inference asks about a call again whenever a type has changed, and each time tries one overload
    after the other: in a first fit 4,000 times about some 550 calls, which took 0.8 s. Lowering
    asks once more (0.2 s).
    """

    __slots__ = ("_resolved",)

    def __init__(self, context):
        self.__dict__ = context.__dict__  # it is the same context, but for the memory
        self._resolved = {}

    def remember(self, call, resolve):
        """The signature of a call; one that cannot be resolved is not remembered."""
        if call not in self._resolved:
            self._resolved[call] = resolve()
        return self._resolved[call]

    def resolve_function_type(self, func, args, kws):
        find = super().resolve_function_type
        # Dispatchers have a memory; an operation that is known by a string may come with values
        # among its types.
        if kws or isinstance(func, (str, types.Dispatcher)):
            return find(func, args, kws)
        return self.remember((func, tuple(args)), lambda: find(func, args, kws))

    def resolve_value_type(self, val):
        kind = super().resolve_value_type(val)
        return _Function(kind.templates) if type(kind) is types.Function else kind


@cache
def _typing(context, flags):
    """The typing context for functions with these flags: numba compiles an overload with the flags of its caller."""
    return _Typing(context)


@cache
def _size_of(context, kind):
    """The size of a type in memory."""
    return context.get_abi_sizeof(kind)


class _KernelLibrary(JITCodeLibrary):
    """The code of a kernel."""

    def _optimize_functions(self, ll_module):
        """Tidy up before parts are linked in and all is optimised as a whole.

        Numba runs all its passes for functions here, too: 0.2 s of a first fit. Parts need them
        before they are inlined, or kernels are a tenth slower.
        """
        if not hasattr(self._codegen, "_pass_builder"):  # before numba 0.62
            super()._optimize_functions(ll_module)
            return
        ll_module.data_layout = self._codegen._data_layout
        passes = llvm.create_new_function_pass_manager()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
        builder = self._codegen._pass_builder()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)


class _Part:
    """Stands for the code generator of functions that only become part of a kernel: these need no environment."""

    def __init__(self, codegen):
        self._codegen = codegen

    def __getattr__(self, name):
        return getattr(self._codegen, name)

    def set_env(self, name, env):
        """The kernel does it."""


class _PartLibrary(JITCodeLibrary):
    """The code of an inner function, to be linked into kernels.

    Numba would optimise it and emit machine code, and do both again as a part of every function
    that calls it: 3 of the 15 seconds of a cold first fit.
    """

    @property
    def codegen(self):
        return _Part(self._codegen)

    def get_pointer_to_function(self, name):
        self._ensure_finalized()
        return 0  # as for any function without a wrapper for Python

    def _optimize_final_module(self):
        """The kernel is optimised as a whole."""

    def _finalize_final_module(self):
        self._finalized = True


class KernelCompiler(CompilerBase):
    """Compiles a kernel."""

    library_class = _KernelLibrary

    def __init__(self, typing_context, target_context, library, args, return_type, flags, names):
        typing_context = _typing(typing_context, flags.copy())
        library = self.library_class(target_context.codegen(), "marginwood")
        library.enable_object_caching()
        super().__init__(typing_context, target_context, library, args, return_type, flags, names)
        self.state.targetctx.typing_context = typing_context
        # Numba asks for the size of each variable, for debuggers, and llvmlite parses a module to
        # tell.
        self.state.targetctx.get_abi_sizeof = partial(_size_of, target_context)

    def define_pipelines(self):
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_NameConstants, WithLifting)
        passes.add_pass_after(_NameExtremes, InlineInlinables)
        passes.passes = [
            (each, aim) for each, aim in passes.passes if each.__name__ not in NOT_NEEDED
        ]
        passes.finalize()
        return [passes]

    def compile_extra(self, func):
        """Compile without collecting garbage meanwhile: a tenth of the time, for objects that are nearly all in use."""
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            compiled = super().compile_extra(func)
        finally:
            if was_enabled:
                gc.enable()
        self._set_environments(compiled)
        return compiled

    def _set_environments(self, compiled):
        """Those of the parts, too."""
        for env in compiled._find_referenced_environments():
            compiled.codegen.set_env(env.env_name, env)


class PartCompiler(KernelCompiler):
    """Compiles a function that only kernels call."""

    library_class = _PartLibrary

    def _set_environments(self, compiled):
        """The kernel does it."""
