"""Reverse mode over the graph: the adjoints of variables from those of results.

    y = softmax(x)   with the cotangent g of y   -->   vjp.softmax(x, y, g, wrt="x") is the adjoint of x

Each call of an op gives a call of its derived op (`declaration/gradient.py`) for every operand that depends on a
variable; what several users contribute is added, zeros are left out.  Bindings and functions are written out first; a
branch is a branch of adjoints, a function that calls itself a loop (`loop_gradient.py`).  A call of a function that
carries a rule (`MARK`) has its adjoints from the rule.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from ..base.errors import LanguageError, PassError
from ..declaration import OpDeclaration
from ..declaration.batch import is_batch
from ..declaration.gradient import derived_of, vjp_attrs, vjp_op
from ..ir import (
    Call,
    Constant,
    Expr,
    ExprMutator,
    Function,
    GlobalVar,
    If,
    IRModule,
    Let,
    MixedModeMutator,
    Steps,
    Tuple,
    TupleGetItem,
    Var,
    const,
    post_order,
    rebuild,
    substitute,
)
from ..ir.loops import EVERY, MOST, SELF, is_loop, loop_of
from ..ir.operators import apply_operator
from ..operator import (
    Op,
    TensorType,
    TupleType,
    Type,
)
from .batching import batched_adjoint
from .build import full, zeros
from .declared_gradient import ABSENT, MARK, Place, Rule, declared_gradient
from .loop_gradient import LoopGradient
from .recurrence_gradient import recurrence_gradient


def pull(
    results: Sequence[Expr],
    cotangents: Sequence[Expr | None],
    variables: Sequence[Var],
    module: IRModule | None = None,
    checkpoint: int | bool | None = None,
) -> list[Expr | None]:
    """The adjoint of each variable, None where it is zero, from the cotangents of tensors (None is zero).

    `module`: where functions that are called by name are found.  `checkpoint`: of recurrences, ops and loops that state
    none, every so many-th state alone is kept, with True as many as the root of their steps; the others are computed
    again.  Raises PassError for what has no gradient, naming it.
    """
    return values_and_pull(results, cotangents, variables, module, checkpoint)[1]


def values_and_pull(
    results: Sequence[Expr],
    cotangents: Sequence[Expr | None],
    variables: Sequence[Var],
    module: IRModule | None = None,
    checkpoint: int | bool | None = None,
) -> tuple[list[Expr], list[Expr | None]]:
    """`pull`, and the results as the adjoints find them: loops run once for both."""
    whole = written_out(Tuple(tuple(results)), module)
    assert isinstance(whole, Tuple)
    reverse = _Reverse(whole, variables, checkpoint)
    for result, cotangent in zip(whole.fields, cotangents, strict=True):
        if cotangent is not None:
            reverse.send(result, (), cotangent)
    found = reverse.run()
    replacing = _Replacing(reverse.run_again)
    values = [replacing.rewrite(each) for each in whole.fields]
    return values, [None if each is None else replacing.rewrite(each) for each in found]


def written_out(expr: Expr, module: IRModule | None = None, marked: bool = True) -> Expr:
    """The expression without bindings and calls of functions; without `marked`, without those that carry rules, too."""
    return _Writing(module, marked).visit(expr)


def ones(type_: TensorType) -> Expr:
    """A tensor of ones."""
    return full(const(1.0, type_.dtype), type_.concrete_shape)


def _or_zeros(adjoint: Expr | None, type_: Type) -> Expr:
    return zeros(type_) if adjoint is None else adjoint


class _Writing(ExprMutator):
    """One body; `inside`: the functions of the module that are being written, from without."""

    def __init__(self, module: IRModule | None, marked: bool, inside: tuple[str, ...] = ()) -> None:
        super().__init__()
        self.module = module
        self.marked = marked
        self.inside = inside

    def visit_let(self, let: Let) -> Steps[Expr]:
        self._keep(let.var, (yield let.value))
        body: Expr = yield let.body
        return body

    def visit_function(self, function: Function) -> Steps[Expr]:
        if not is_loop(function):
            return function
        body: Expr = yield _Writing(self.module, self.marked, (*self.inside, SELF)), function.body
        return rebuild(function, (*function.params, body))

    def visit_call(self, call: Call) -> Steps[Expr]:
        if isinstance(call.op, Op):
            return (yield from self.visit_default(call))
        args: list[Expr] = []
        for arg in call.args:
            args.append((yield arg))
        callee, inside = call.op, self.inside
        if isinstance(callee, Var):
            callee = yield callee
        if isinstance(callee, GlobalVar):
            if callee.name == (inside[-1] if inside else None):
                if callee.name == SELF:
                    return rebuild(call, (callee, *args))
                own = GlobalVar(SELF, callee.type)
                return Call(own, tuple(args), call.attrs, call.type_args, span=call.span)
            if self.module is None or callee.name not in self.module or callee.name in inside:
                raise PassError(
                    f"the gradient of @{callee.name}, which calls itself through other functions, is not there"
                )
            name, callee = callee.name, self.module[callee.name]
            inside = (*inside, name)
            if any(isinstance(node, GlobalVar) and node.name == name for node in post_order(callee)):
                body: Expr = yield _Writing(self.module, self.marked, inside), callee.body
                stated = {key: callee.attrs[key] for key in (MOST, EVERY) if key in callee.attrs}
                callee = loop_of(f"@{name}", callee.params, body, callee.body.checked_type, **stated)
        if not isinstance(callee, Function):
            raise PassError(
                f"the gradient of a call of {type(callee).__name__} is not there; expected a function"
            )
        if is_loop(callee):
            written: Expr = yield callee
            return Call(written, tuple(args), call.attrs, call.type_args, span=call.span)
        if self.marked and MARK in callee.attrs:
            return Call(callee, tuple(args), call.attrs, call.type_args, span=call.span)
        body = substitute(callee.body, dict(zip(callee.params, args, strict=True)))
        found: Expr = yield _Writing(self.module, self.marked, inside), body
        return found


class _Replacing(MixedModeMutator):
    """Calls by what is computed in their place."""

    def __init__(self, values: Mapping[int, Expr]) -> None:
        super().__init__()
        self.values = values

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        return self.rewrite(self.values[id(pre)]) if id(pre) in self.values else post


class _Reverse:
    """Contributions to the values of an expression, by node and place in its tuple."""

    def __init__(self, whole: Expr, variables: Sequence[Var], checkpoint: int | bool | None) -> None:
        self.variables = variables
        self.checkpoint = checkpoint
        self.inner = partial(pull, checkpoint=checkpoint)
        self.order = post_order(whole, lambda node: isinstance(node, If | Function))
        self.active = self._active(set(map(id, variables)))
        self.sent: dict[int, dict[Place, list[Expr]]] = {}
        self.run_again: dict[int, Expr] = {}  # a call of a loop -> its value where its states are kept

    def _active(self, found: set[int]) -> set[int]:
        for node in self.order:
            if isinstance(node, If):
                depends = any(id(inner) in found for inner in post_order(node))
            else:
                depends = any(id(child) in found for child in node.children())
            if depends and not isinstance(node, Function):
                found.add(id(node))
        return found

    def send(self, node: Expr, place: Place, adjoint: Expr) -> None:
        """Adds to the adjoint of a value, at the node that computes it."""
        while True:
            if isinstance(node, TupleGetItem):
                place = (node.index, *place)
                node = node.tuple_value
            elif isinstance(node, Tuple) and place:
                node, place = node.fields[place[0]], place[1:]
            else:
                break
        if id(node) in self.active:
            self.sent.setdefault(id(node), {}).setdefault(place, []).append(adjoint)

    def run(self) -> list[Expr | None]:
        for node in reversed(self.order):
            if id(node) not in self.sent:
                continue
            adjoints = {place: _sum(parts) for place, parts in self.sent[id(node)].items()}
            if isinstance(node, Call):
                self._call(node, adjoints)
            elif isinstance(node, If):
                self._if(node, adjoints)
        return [self._of(var) for var in self.variables]

    def _of(self, var: Var) -> Expr | None:
        found = self.sent.get(id(var))
        return _sum(found[()]) if found else None

    def _loop(self, call: Call, adjoints: Mapping[Place, Expr]) -> None:
        """What a loop gives is found with its states from then on, so that it runs once."""
        active = [id(arg) in self.active for arg in call.args]
        made = LoopGradient(call, active, self.inner, self.checkpoint)
        self.run_again[id(call)] = made.value
        for position, adjoint in made.adjoints(adjoints):
            self.send(call.args[position], (), adjoint)

    def _call(self, call: Call, adjoints: Mapping[Place, Expr]) -> None:
        if is_loop(call.op):
            self._loop(call, adjoints)
            return
        if isinstance(call.op, Function):
            rule: Rule = call.op.attrs[MARK]  # type: ignore[assignment]  # functions without one are written out
            for arg, adjoint in zip(call.args, rule(call.args, call, adjoints), strict=True):
                if adjoint is not None:
                    self.send(arg, (), adjoint)
            return
        op = call.op
        assert isinstance(op, Op)
        parts = recurrence_gradient(call, self.checkpoint, pull)
        if parts is not None:
            for position, adjoint in parts.adjoints(adjoints, [id(arg) in self.active for arg in call.args]):
                self.send(call.args[position], (), adjoint)
            return
        for position, arg in enumerate(call.args):
            if id(arg) not in self.active:
                continue
            for element, place in _tensors(arg):
                whole = isinstance(arg, Tuple)
                if not _is_inexact(element.checked_type) or (whole and id(element) not in self.active):
                    continue
                made = vjp_call(op, call, adjoints, position, place)
                if made is not None:
                    self.send(arg if place is not None else element, () if place is None else (place,), made)

    def _if(self, node: If, adjoints: Mapping[Place, Expr]) -> None:
        """The adjoints of the variables in each branch; values that both need are computed where they are used."""
        places = list(adjoints)
        parts: list[list[Expr | None]] = []
        for branch in (node.then, node.otherwise):
            results = [_field(branch, place) for place in places]
            parts.append(self.inner(results, [adjoints[place] for place in places], self.variables))
        chosen = [k for k in range(len(self.variables)) if any(part[k] is not None for part in parts)]
        if not chosen:
            return
        branches = [
            Tuple(tuple([_or_zeros(part[k], self.variables[k].checked_type) for k in chosen]))
            for part in parts
        ]
        made = If(node.condition, *branches)
        for field, k in enumerate(chosen):
            self.send(self.variables[k], (), TupleGetItem(made, field))


def vjp_call(
    op: Op, call: Call, adjoints: Mapping[Place, Expr], position: int, element: int | None
) -> Expr | None:
    """The call of the derived op for one operand of `call`; None where the adjoint is zero.

    Outputs that it does not read are left out; operands that it does not read are not kept for it.
    """
    declaration: OpDeclaration | None = op.get_attr("declaration")
    if declaration is None:
        raise PassError(f"op {op.name} has no declaration, from which a gradient could be derived")
    if is_batch(declaration):
        return batched_adjoint(vjp_call, call, adjoints, position, element)
    wanted = declaration.signature.inputs[position].name + ("" if element is None else f"[{element}]")
    count = len(declaration.signature.inputs)
    inputs = [*call.args, *[ABSENT] * (count - len(call.args))]
    outputs, cotangents = _results(declaration, call, adjoints)
    if all(_is_empty(each) for each in cotangents):
        return None
    if declaration.signature.inputs[position].name in declaration.gradients:
        return declared_gradient(declaration, call, position, inputs, outputs, cotangents)
    target = vjp_op(op)
    attrs = vjp_attrs(declaration, call.attrs, wanted)
    try:
        types = [each.checked_type for each in (*inputs, *outputs, *cotangents)]
        found = derived_of(declaration, attrs, types)
    except LanguageError as error:
        raise PassError(f"{op.name} has no gradient for {wanted}: {error}") from error
    if found.is_zero:
        return None
    inputs = [arg if k in found.reads else _unread(arg) for k, arg in enumerate(inputs)]
    outputs = [each if count + k in found.reads else ABSENT for k, each in enumerate(outputs)]
    return Call(target, (*inputs, *outputs, *cotangents), attrs, span=call.span)


def _is_empty(cotangent: Expr) -> bool:
    """Whether a cotangent is absent, or has no elements."""
    types = [cotangent.checked_type]
    while types:
        type_ = types.pop()
        if isinstance(type_, TupleType):
            types += type_.fields
        elif not isinstance(type_, TensorType) or 0 not in type_.shape:
            return False
    return True


def _results(
    declaration: OpDeclaration, call: Call, adjoints: Mapping[Place, Expr]
) -> tuple[list[Expr], list[Expr]]:
    """The results of a call and their cotangents, one entry a declared output."""
    signature = declaration.signature
    if not signature.returns_tuple:
        return [call], [adjoints.get((), ABSENT)]
    assert isinstance(call.checked_type, TupleType)
    fields = list(enumerate(call.checked_type.fields))
    fixed = len(signature.outputs) - 1
    outputs: list[Expr] = []
    cotangents: list[Expr] = []
    for output in signature.outputs:
        if output.variadic is None:
            k, _ = fields.pop(0)
            outputs.append(TupleGetItem(call, k))
            cotangents.append(adjoints.get((k,), ABSENT))
            continue
        own = [fields.pop(0) for _ in range(len(call.checked_type.fields) - fixed)]
        outputs.append(Tuple(tuple([TupleGetItem(call, k) for k, _ in own])))
        given = [adjoints.get((k,)) for k, _ in own]
        if all(each is None for each in given):
            cotangents.append(ABSENT)
        else:
            parts = [_or_zeros(each, type_) for each, (_, type_) in zip(given, own, strict=True)]
            cotangents.append(Tuple(tuple(parts)))
    return outputs, cotangents


def _unread(arg: Expr) -> Expr:
    """What stands for an operand of which only the type matters: nothing that must be kept until then."""
    if (
        isinstance(arg, Var | Constant)
        or not isinstance(arg.checked_type, TensorType)
        or not arg.checked_type.is_static
    ):
        return arg
    return zeros(arg.checked_type)


def _tensors(arg: Expr) -> Iterator[tuple[Expr, int | None]]:
    """The tensors of an operand, each with its place where it is one of several."""
    if isinstance(arg, Tuple):
        yield from ((field, k) for k, field in enumerate(arg.fields))
    elif isinstance(arg.checked_type, TupleType):
        yield from ((TupleGetItem(arg, k), k) for k in range(len(arg.checked_type.fields)))
    else:
        yield arg, None


def _field(expr: Expr, place: Place) -> Expr:
    for k in place:
        expr = expr.fields[k] if isinstance(expr, Tuple) else TupleGetItem(expr, k)
    return expr


def _sum(parts: Sequence[Expr]) -> Expr:
    total = parts[0]
    for part in parts[1:]:
        total = apply_operator("+", total, part)
    return total


def _is_inexact(type_: Type) -> bool:
    return isinstance(type_, TensorType) and type_.dtype.is_inexact
