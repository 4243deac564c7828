"""InferType: every expression gets its type.

Nodes are typed when they are made, as far as their operands are.  This pass finds the rest: it gives each unknown
type to the solver with the relations of the calls that touch it, forwards and backwards, and rebuilds what changed.
An expression that is typed already is returned as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from ..base.arith.expr import Shape
from ..base.errors import TypeInferenceError
from ..base.vocabulary import DType
from ..ir import (
    Call,
    Expr,
    Function,
    GlobalVar,
    If,
    IRModule,
    Let,
    MixedModeMutator,
    Span,
    Tuple,
    TupleGetItem,
    Var,
    post_order,
    type_relation,
)
from ..operator import (
    FuncType,
    IncompleteType,
    Op,
    TensorType,
    TupleType,
    Type,
    TypeReporter,
    TypeSolver,
    TypeVar,
    prefer,
)
from .context import PassContext
from .define import module_pass

KnownPart: TypeAlias = tuple[Shape | None, DType | None]
"""The shape and the dtype of a tensor, each None where it is not known."""

_NOTHING: Final[Mapping[Var, Any]] = MappingProxyType({})


@module_pass(name="InferType")
def InferType(module: IRModule, context: PassContext) -> IRModule:
    """Types every expression of the module. Raises TypeInferenceError and its kin; unknown types are listed."""
    for function in module.functions.values():
        if function not in module.typed and _is_typed(function):
            module.typed.add(function)
    if len(module.typed) == len(module.functions):
        return module
    return _inferred(module, module.typed) or _inferred(module, frozenset()) or module


def infer_types(module: IRModule, types: Mapping[Var, Type], parts: Mapping[Var, KnownPart]) -> IRModule:
    """The module with every type; `types` of variables replace theirs, `parts` are known of those that have none.

    Raises as `infer_type` does.
    """
    inferred = _inferred(module, frozenset(), types, parts)
    assert inferred is not None  # None is of functions whose types were known
    return inferred


def _inferred(
    module: IRModule,
    known: Set[Function],
    types: Mapping[Var, Type] = _NOTHING,
    parts: Mapping[Var, KnownPart] = _NOTHING,
) -> IRModule | None:
    """The module with every type, where those of the functions `known` are; None where one of these has changed."""
    inference = _Inference(types, parts)
    for var, function in module.functions.items():
        own = function.checked_type
        is_known = function in known or (bool(function.type_params) and own.is_complete)
        inference.global_types[var.name] = own if is_known else inference.solver.fresh(var.name)
    for var, function in module.functions.items():
        if function not in known:
            inference.solver.unify(inference.global_types[var.name], inference.collect(function))
    inference.solve()
    functions: dict[GlobalVar, Function] = {}
    for var, function in module.functions.items():
        typed = inference.rebuild(function)
        assert isinstance(typed, Function)
        if function in known and typed.checked_type != function.checked_type:
            return None  # it calls what has another type than before
        functions[inference.global_var(var)] = typed
    return IRModule(functions, typed=functions.values())


def infer_type(
    expr: Expr, types: Mapping[Var, Type] | None = None, parts: Mapping[Var, KnownPart] | None = None
) -> Expr:
    """`expr` with every type known; `types` gives or narrows the types of free variables, which are then new ones.

    `parts`: what is known of variables without a type.

    Raises TypeInferenceError, ShapeError, DTypeError; a type that nothing determines is an error too.
    """
    if not types and not parts and _is_typed(expr):
        return expr
    inference = _Inference(types or _NOTHING, parts or _NOTHING)
    inference.collect(expr)
    inference.solve()
    return inference.rebuild(expr)


def _is_typed(expr: Expr) -> bool:
    return all([node.checked_type.is_complete for node in post_order(expr)])


class _Inference:
    """Unknown types of one program, their relations, and the program with what was found."""

    def __init__(self, given: Mapping[Var, Type], parts: Mapping[Var, KnownPart]) -> None:
        """`given`: types that replace those of variables; `parts`: what is known of variables without a type."""
        self.solver = TypeSolver()
        self.given = given
        self.parts = parts
        self.terms: dict[int, Type] = {}
        self.vars: list[Var] = []
        self.global_types: dict[str, Type] = {}
        self.alive: list[Expr] = []
        self._rewriter: _Rebuild | None = None
        self._global_vars: dict[str, GlobalVar] = {}

    def collect(self, expr: Expr) -> Type:
        """Give every node a term and enter what relates them."""
        for node in post_order(expr):
            if id(node) not in self.terms:
                self.terms[id(node)] = self._term(node)
                self.alive.append(node)
        return self.terms[id(expr)]

    def solve(self) -> None:
        self.solver.solve()
        unknown = [v for v in self.vars if not self.solver.resolve(self.terms[id(v)]).is_complete]
        left = self.solver.unresolved()
        if unknown or left:
            named = f" of {', '.join([f'%{v.name_hint}' for v in unknown])}" if unknown else ""
            raise TypeInferenceError(
                "\n  ".join([f"types{named} are not determined; open relations:", *left])
            )

    def rebuild(self, expr: Expr) -> Expr:
        if self._rewriter is None:
            self._rewriter = _Rebuild(self)
        return self._rewriter.rewrite(expr)

    def global_var(self, var: GlobalVar) -> GlobalVar:
        """The variable with its type, one object a name."""
        found = self.solver.resolve(self.global_types.get(var.name, var.checked_type))
        if var.type == found:
            return self._global_vars.setdefault(var.name, var)
        return self._global_vars.setdefault(var.name, GlobalVar(var.name, found, span=var.span))

    def found(self, node: Expr) -> Type:
        """The type of a variable; of a function that was typed before, its own."""
        term = self.terms.get(id(node))
        return node.checked_type if term is None else self.solver.resolve(term)

    def _term(self, node: Expr) -> Type:
        if isinstance(node, Var):
            self.vars.append(node)
            if node in self.parts:
                self.solver.narrow(node.checked_type, *self.parts[node])
            return self.given.get(node, node.checked_type)
        if isinstance(node, GlobalVar):
            return self.global_types.get(node.name, node.checked_type)
        if isinstance(node, Call):
            return self._call(node)
        operands = [self.terms[id(child)] for child in node.children()]
        if isinstance(node, Tuple):
            return TupleType(tuple(operands))
        if isinstance(node, TupleGetItem):
            return self._field(node, operands[0])
        if isinstance(node, Let):
            self._unify(operands[0], operands[1], "let", node.span)
            return operands[2]
        if isinstance(node, If):
            self._unify(operands[0], TensorType((), "bool"), "if", node.span)
            return self._unify(operands[1], operands[2], "if", node.span)
        if isinstance(node, Function):
            if node.ret_type is not None:
                self._unify(operands[-1], node.ret_type, "function", node.span)
            return FuncType(tuple(operands[:-1]), operands[-1], node.type_params)
        return node.checked_type

    def _unify(self, a: Type, b: Type, what: str, site: Span | None) -> Type:
        self.solver.op_name, self.solver.site = what, site
        return self.solver.unify(a, b)

    def _call(self, node: Call) -> Type:
        args = [self.terms[id(arg)] for arg in node.args]
        if not isinstance(node.op, Op):
            return self._function_call(node, self.terms[id(node.op)], args)
        same = all([arg == own.checked_type for arg, own in zip(args, node.args, strict=True)])
        if same and node.checked_type.is_complete:
            return node.checked_type
        result = node.checked_type if isinstance(node.checked_type, IncompleteType) else self.solver.fresh()
        self.solver.add_relation(
            type_relation(node.op),
            (*args, result),
            len(args),
            node.attrs,
            op_name=node.op.name,
            site=node.span,
        )
        return result

    def _function_call(self, node: Call, callee: Type, args: Sequence[Type]) -> Type:
        callee = self.solver.resolve(callee)
        if isinstance(callee, FuncType) and callee.type_params:
            types: Sequence[Type] = node.type_args or [self.solver.fresh(v.name) for v in callee.type_params]
            callee = callee.instantiate(types)
            for constraint in callee.constraints:
                self.solver.add_constraint(constraint, node.attrs, node.span)
        result = self.solver.fresh()
        self._unify(callee, FuncType(tuple(args), result), "call", node.span)
        return result

    def _field(self, node: TupleGetItem, source: Type) -> Type:
        result = self.solver.fresh()
        index = node.index

        def relation(types: Sequence[Type], num_inputs: int, attrs: object, reporter: TypeReporter) -> bool:
            fields = types[0]
            if isinstance(fields, IncompleteType | TypeVar):
                return False
            if not isinstance(fields, TupleType) or index >= len(fields.fields):
                raise TypeInferenceError(f"field {index} of a value of type {fields}")
            reporter.assign(types[1], fields.fields[index])
            return True

        self.solver.add_relation(relation, (source, result), 1, op_name="tuple field", site=node.span)
        return result


class _Rebuild(MixedModeMutator):
    """The program over variables with their types; what had its type stays the same object."""

    def __init__(self, inference: _Inference) -> None:
        super().__init__()
        self.inference = inference

    def rewrite_var(self, pre: Var, post: Var) -> Expr:
        found = self.inference.found(pre)
        if found is pre.type or found == pre.type:
            return pre
        return Var(pre.name_hint, found, init=pre.init, span=pre.span)

    def rewrite_function(self, pre: Function, post: Function) -> Expr:
        if pre.ret_type is None or pre is post:
            return post
        result = _sharper(pre.ret_type, post.body.checked_type)
        return Function(post.params, post.body, result, post.type_params, post.attrs, span=post.span)

    def rewrite_global_var(self, pre: GlobalVar, post: GlobalVar) -> Expr:
        return self.inference.global_var(pre)


def _sharper(a: Type, b: Type) -> Type:
    """Of two types that were found to be one, what both say: the dims that are known best."""
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return TensorType([prefer(m, n) for m, n in zip(a.shape, b.shape, strict=True)], a.dtype)
    if isinstance(a, TupleType) and isinstance(b, TupleType):
        return TupleType(tuple([_sharper(m, n) for m, n in zip(a.fields, b.fields, strict=True)]))
    return a if a.is_complete else b
