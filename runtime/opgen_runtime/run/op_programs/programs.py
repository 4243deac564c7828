"""A declared op, and its derivatives, as programs of operands and attrs: what every bridge asks of an op.

    relu = program_of("relu")        relu(data)
    relu.vjp                         relu_vjp(data, out, grad_out; wrt)     the adjoints of the operands `wrt`
    relu.jvp                         relu_jvp(data, tangents; wrt)          the change along tangents of them
    relu.vjp.vjp                     relu_vjp_vjp(data, out, grad_out, adjoint, grad_adjoint; wrt, wrt2)

Derivatives are programs like others, so that they have derivatives themselves.  A call gives one type an operand: a
`TensorType`, None where an optional one is absent, a tuple of `TensorType` for one of several tensors.  The tensors of
a call in their order, absent ones left out, are its leaves; `wrt` names leaves by number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, TypeAlias, TypeVar

from ...base.errors import AttrError, RegistryError
from ...base.forks import lock
from ...base.lazy import lazy
from ...base.vocabulary import dataclass
from ...declaration import OpDeclaration
from ...declaration.gradient import fresh
from ...ir import (
    Call,
    Expr,
    Function,
    MixedModeMutator,
    Tuple,
    TupleGetItem,
    Var,
    free_vars,
    make_call,
    substitute,
)
from ...operator import REQUIRED, AttrField, Op, TensorType, TupleType
from ...transform.build import zeros_like
from ...transform.gradient import pull

T = TypeVar("T")
Kind: TypeAlias = Literal["one", "optional", "several"]
OperandType: TypeAlias = TensorType | tuple[TensorType, ...] | None
"""Of one declared operand of a call."""
Argument: TypeAlias = Var | tuple[Var, ...] | None
Values: TypeAlias = Mapping[str, object]
"""Attrs by name, normalised."""


@dataclass(frozen=True, slots=True)
class Operand:
    """A declared operand, or result: one tensor, one that may be absent, or any number of them."""

    name: str
    kind: Kind


class Program(ABC):
    """Something that computes tensors from operands and attrs.

    `path`: the op's full name, then `vjp` or `jvp` for each derivative that was taken: what `found` takes.
    `operands`, `outputs`: as declared; outputs are `one`, or the only one `several`.  `fields`: the attrs.
    `is_data_dependent`: the size of a result of the op depends on the values of operands.
    """

    def __init__(
        self,
        path: tuple[str, ...],
        operands: Sequence[Operand],
        fields: Sequence[AttrField],
        outputs: Sequence[Operand],
        is_data_dependent: bool,
    ) -> None:
        self.path = path
        self.operands = tuple(operands)
        self.fields = tuple(fields)
        self.outputs = tuple(outputs)
        self.is_data_dependent = is_data_dependent

    @property
    def namespace(self) -> str:
        """That of the op's project, "" for ops that are built in."""
        return self.path[0].rpartition(".")[0]

    @property
    def name(self) -> str:
        """A name without dots: `relu`, `relu_vjp`."""
        return "_".join((self.path[0].rpartition(".")[2], *self.path[1:]))

    @property
    def gives_several(self) -> bool:
        """Whether the number of results depends on the call."""
        return any(output.kind == "several" for output in self.outputs)

    @lazy
    def vjp(self) -> Vjp:
        """The adjoints of operands."""
        return Vjp(self)

    @lazy
    def jvp(self) -> Jvp:
        """The change of the results along tangents of operands."""
        return Jvp(self)

    def normalised(self, values: Values) -> dict[str, object]:
        """Attrs in the form that is kept, with the defaults of those that are not given.

        Raises AttrError for an unknown, a missing or an unsuitable one.
        """
        unknown = [name for name in values if name not in self._fields]
        if unknown:
            known = ", ".join(self._fields) or "none"
            raise AttrError(f"{self.name}: unknown attr {unknown[0]!r}; its attrs are: {known}")
        found: dict[str, object] = {}
        for field in self.fields:
            if field.name in values:
                try:
                    found[field.name] = field.normalise(values[field.name])
                except ValueError as error:
                    given = values[field.name]
                    raise AttrError(
                        f"{self.name}: attr {field.name!r} is {given!r}, expected {error}"
                    ) from None
            elif field.default is REQUIRED:
                raise AttrError(f"{self.name}: missing attr {field.name!r} ({field.type_text})")
            else:
                found[field.name] = field.default
        return found

    @lazy
    def _fields(self) -> dict[str, AttrField]:
        return {field.name: field for field in self.fields}

    @abstractmethod
    def results(self, arguments: Sequence[Argument], values: Values) -> list[Expr]:
        """The results over variables of the operands.  Raises what making the calls raises; PassError for what has
        no gradient."""

    @abstractmethod
    def infer(self, types: Sequence[OperandType], values: Values) -> list[TensorType]:
        """The types of the results; dims may be symbolic.  Raises what the type relation raises."""

    def function(self, types: Sequence[OperandType], values: Values) -> Function:
        """The program over one variable a leaf; a single result is no tuple."""
        arguments, variables = variables_of(self.operands, types)
        found = self.results(arguments, values)
        single = len(found) == 1 and not self.gives_several
        return Function(tuple(variables), found[0] if single else _tuple_of(found))


class Declared(Program):
    """A declared op itself."""

    def __init__(self, op: Op) -> None:
        declaration: OpDeclaration | None = op.get_attr("declaration")
        if declaration is None:
            raise RegistryError(f"op {op.name!r} has no declaration, of which a program could be made")
        self.op = op
        self.declaration = declaration
        signature = declaration.signature
        operands = [
            Operand(each.name, "several" if each.variadic else "optional" if each.optional else "one")
            for each in signature.inputs
        ]
        outputs = [
            Operand(each.name, "one" if each.variadic is None else "several") for each in signature.outputs
        ]
        fields = () if declaration.attrs is None else declaration.attrs.fields()
        dynamic = bool(declaration.signature.dynamic)
        super().__init__((declaration.full_name,), operands, fields, outputs, dynamic)

    def results(self, arguments: Sequence[Argument], values: Values) -> list[Expr]:
        kind = self.declaration.attrs
        call = make_call(self.op, arguments, None if kind is None else kind(**values))
        type_ = call.checked_type
        if isinstance(type_, TupleType):
            return [TupleGetItem(call, k) for k in range(len(type_.fields))]
        return [call]

    def infer(self, types: Sequence[OperandType], values: Values) -> list[TensorType]:
        arguments, _ = variables_of(self.operands, types)
        return [tensor_type(result) for result in self.results(arguments, values)]


class Vjp(Program):
    """The adjoints of leaves of a program's call, `wrt`, from cotangents of its results.

    Operands: those of the program; its results, each of which may be absent and is computed again then; a cotangent of
    each, which is zero where it is absent.  Of `several` results all are given, or none.
    """

    def __init__(self, base: Program) -> None:
        self.base = base
        taken = names_of(base)
        saved = [_optional(each, fresh(each.name, taken)) for each in base.outputs]
        cotangents = [_optional(each, fresh(f"grad_{each.name}", taken)) for each in base.outputs]
        self.wrt = fresh("wrt", taken)
        field = AttrField(self.wrt, "ints", doc="The leaves whose adjoints are meant, by number.")
        adjoints = Operand(fresh("adjoint", taken), "several")
        operands = (*base.operands, *saved, *cotangents)
        super().__init__(
            (*base.path, "vjp"), operands, (*base.fields, field), [adjoints], base.is_data_dependent
        )

    def results(self, arguments: Sequence[Argument], values: Values) -> list[Expr]:
        own, saved, cotangents = self._parts(arguments)
        results = self.base.results(own, _without(values, self.wrt))
        wanted = wanted_leaves(list(leaves(own)), values[self.wrt], self.name)
        each_saved = _one_a_result(saved, len(results), self.name)
        each_cotangent = _one_a_result(cotangents, len(results), self.name)
        found = pull(results, each_cotangent, wanted)
        known = [(a, b) for a, b in zip(results, each_saved, strict=True) if b is not None]
        replaced = _Replaced(known)
        return [
            zeros_like(leaf) if adjoint is None else replaced.rewrite(adjoint)
            for leaf, adjoint in zip(wanted, found, strict=True)
        ]

    def infer(self, types: Sequence[OperandType], values: Values) -> list[TensorType]:
        own = list(leaves(types[: len(self.base.operands)]))
        return wanted_leaves(own, values[self.wrt], self.name)

    def reads(self, types: Sequence[OperandType], values: Values) -> tuple[bool, ...]:
        """Whether each result of the base is read by the adjoints, where all are given.

        `types`: of the base's operands; `values`: its attrs, and `wrt`.
        """
        results = self.base.infer(types, _without(values, self.wrt))
        held = _grouped(self.base.outputs, results)
        variables = variables_of(self.operands, [*types, *held, *held])
        exprs = self.results(variables[0], values)
        free = {id(var) for var in free_vars(Tuple(tuple(exprs)))}
        first = len(list(leaves(types)))
        return tuple([id(var) in free for var in variables[1][first : first + len(results)]])

    def _parts(
        self, arguments: Sequence[Argument]
    ) -> tuple[Sequence[Argument], Sequence[Argument], Sequence[Argument]]:
        """The base's operands, its results, the cotangents."""
        count, results = len(self.base.operands), len(self.base.outputs)
        return arguments[:count], arguments[count : count + results], arguments[count + results :]


class Jvp(Program):
    """The change of a program's results of floats along tangents, one a leaf of `wrt`; other results have none.

    It is the transpose of the transposed derivative: `pull` is linear in the cotangents, and is pulled back itself.
    """

    def __init__(self, base: Program) -> None:
        self.base = base
        taken = names_of(base)
        tangents = Operand(fresh("tangents", taken), "several")
        self.wrt = fresh("wrt", taken)
        field = AttrField(self.wrt, "ints", doc="The leaves that have tangents, by number.")
        changes = Operand(fresh("changes", taken), "several")
        super().__init__(
            (*base.path, "jvp"),
            (*base.operands, tangents),
            (*base.fields, field),
            [changes],
            base.is_data_dependent,
        )

    def results(self, arguments: Sequence[Argument], values: Values) -> list[Expr]:
        *own, tangents = arguments
        given = list(leaves([tangents]))
        wanted = wanted_leaves(list(leaves(own)), values[self.wrt], self.name)
        if len(given) != len(wanted):
            raise AttrError(f"{self.name}: {len(given)} tangents for {len(wanted)} operands of {self.wrt!r}")
        exprs = self.base.results(own, _without(values, self.wrt))
        results = [expr for expr in exprs if has_gradient(tensor_type(expr))]
        duals = [Var(f"dual{k}", expr.checked_type) for k, expr in enumerate(results)]
        pulled = pull(results, list(duals), wanted)
        pairs = [(a, t) for a, t in zip(pulled, given, strict=True) if a is not None]
        pushed = pull([a for a, _ in pairs], [t for _, t in pairs], duals)
        nothing: dict[Var, Expr] = {d: zeros_like(each) for d, each in zip(duals, results, strict=True)}
        return [
            nothing[dual] if change is None else substitute(change, nothing)
            for dual, change in zip(duals, pushed, strict=True)
        ]

    def infer(self, types: Sequence[OperandType], values: Values) -> list[TensorType]:
        found = self.base.infer(types[:-1], _without(values, self.wrt))
        return [each for each in found if has_gradient(each)]


_programs: Final[dict[str, Declared]] = {}
_lock: Final = lock()


def program_of(name: str) -> Declared:
    """The program of the op of that full name: one object, until another op of the name is declared.

    Raises RegistryError, listing near names, if there is none.
    """
    op = Op.get(name)
    with _lock:
        found = _programs.get(name)
        if found is None or found.declaration is not op.get_attr("declaration"):
            found = _programs[name] = Declared(op)
        return found


def found(path: Sequence[str]) -> Program:
    """The program of a path.  Raises RegistryError for what is none."""
    name, *taken = path
    program: Program = program_of(name)
    for each in taken:
        if each not in ("vjp", "jvp"):
            raise RegistryError(f"{'.'.join(path)} is no program: {each!r} is neither vjp nor jvp")
        program = program.vjp if each == "vjp" else program.jvp
    return program


def leaves(operands: Iterable[T | tuple[T, ...] | None]) -> Iterator[T]:
    """The tensors of a call in order, absent ones left out."""
    for each in operands:
        if isinstance(each, tuple):
            yield from each
        elif each is not None:
            yield each


def nested_as(operands: Sequence[OperandType], flat: Iterable[TensorType]) -> list[OperandType]:
    """Types, one a leaf in order, as the operands nest theirs."""
    rest = iter(flat)
    return [
        tuple([next(rest) for _ in each]) if isinstance(each, tuple) else None if each is None else next(rest)
        for each in operands
    ]


def variables_of(
    operands: Sequence[Operand], types: Sequence[OperandType]
) -> tuple[list[Argument], list[Var]]:
    """A variable for each leaf, as the operands nest them, and in order."""
    made: list[Var] = []

    def variable(name: str, type_: TensorType) -> Var:
        made.append(Var(name, type_))
        return made[-1]

    arguments: list[Argument] = []
    for operand, type_ in zip(operands, types, strict=True):
        if isinstance(type_, tuple):
            arguments.append(tuple([variable(f"{operand.name}{k}", each) for k, each in enumerate(type_)]))
        else:
            arguments.append(None if type_ is None else variable(operand.name, type_))
    return arguments, made


def _tuple_of(results: Sequence[Expr]) -> Expr:
    """The tuple of results: of all those of a call the call itself, which is computed as an eager one is."""
    first = results[0] if results else None
    if not isinstance(first, TupleGetItem):
        return Tuple(tuple(results))
    whole = first.tuple_value
    indices = [each.index for each in results if isinstance(each, TupleGetItem) and each.tuple_value is whole]
    type_ = whole.checked_type
    assert isinstance(type_, TupleType)
    return (
        whole
        if len(results) == len(indices) and indices == list(range(len(type_.fields)))
        else Tuple(tuple(results))
    )


def wanted_leaves(own: Sequence[T], wrt: object, name: str) -> list[T]:
    """The leaves that `wrt` names.  Raises AttrError for a number that is none."""
    assert isinstance(wrt, tuple)
    for number in wrt:
        if not 0 <= number < len(own):
            raise AttrError(f"{name}: {number} is no number of an operand's tensor; there are {len(own)}")
    return [own[number] for number in wrt]


def has_gradient(type_: TensorType) -> bool:
    """Whether a tensor may have a gradient."""
    return type_.dtype.is_float or type_.dtype.is_complex


def tensor_type(expr: Expr) -> TensorType:
    type_ = expr.checked_type
    assert isinstance(type_, TensorType)
    return type_


def names_of(program: Program) -> set[str]:
    """The names of operands and attrs."""
    return {operand.name for operand in program.operands} | {field.name for field in program.fields}


def _optional(output: Operand, name: str) -> Operand:
    return Operand(name, "several" if output.kind == "several" else "optional")


def _without(values: Values, name: str) -> dict[str, object]:
    return {key: value for key, value in values.items() if key != name}


def _grouped(outputs: Sequence[Operand], types: Sequence[TensorType]) -> list[OperandType]:
    """The types of results as one entry a declared output."""
    rest = iter(types)
    spare = len(types) - sum(1 for output in outputs if output.kind != "several")
    return [
        tuple([next(rest) for _ in range(spare)]) if output.kind == "several" else next(rest)
        for output in outputs
    ]


def _one_a_result(arguments: Sequence[Argument], count: int, name: str) -> list[Expr | None]:
    """What is given for each result, None where it is not.  Raises AttrError for another number of them."""
    found: list[Expr | None] = []
    spare = count - sum(1 for each in arguments if not isinstance(each, tuple))
    for each in arguments:
        if not isinstance(each, tuple):
            found.append(each)
        elif each and len(each) != spare:
            raise AttrError(f"{name}: {len(each)} tensors for {spare} results")
        else:
            found.extend(each or [None] * spare)
    return found


class _Replaced(MixedModeMutator):
    """Expressions in which results that are given stand for the calls that would compute them."""

    def __init__(self, known: Sequence[tuple[Expr, Expr]]) -> None:
        super().__init__()
        self._kept = [result for result, _ in known]  # so that no other node gets their ids
        self._whole = {id(result): given for result, given in known}
        self._fields = {
            (id(result.tuple_value), result.index): given
            for result, given in known
            if isinstance(result, TupleGetItem)
        }

    def rewrite_call(self, pre: Call, post: Call) -> Expr:
        return self._whole.get(id(pre), post)

    def rewrite_tuple_get_item(self, pre: TupleGetItem, post: TupleGetItem) -> Expr:
        return self._fields.get((id(pre.tuple_value), pre.index), post)
