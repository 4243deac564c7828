"""Derived ops: `vjp.<op>`, the adjoint of one operand of a declared op, made when it is first asked for.

    vjp.softmax(data, out, grad_out, axis=-1, wrt="data")

Inputs are those of the op, its outputs (which may be absent: what is not given is computed again) and a cotangent for
each output (absent: zero).  Attrs are the op's and `wrt`, the operand's name, `data[1]` for one of several
(`wrt2` where the op has such an attr).  The result has the operand's type, in the layout in which it is stored.
Derived ops are ops: they have derived ops themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from ..base.errors import LanguageError, RegistryError
from ..base.vocabulary import OpPattern
from ..operator import (
    Attrs,
    Binding,
    Bound,
    Input,
    Let,
    Op,
    Output,
    Require,
    Rule,
    Signature,
    TupleType,
    Type,
    TypeReporter,
    attr,
    binding_of,
    has_op,
)
from .compute import OperandTensors
from .declaration import OpDeclaration
from .declare import register
from .derive import Derived, check_operands, derived, operand_named, over_operands

NAMESPACE: Final = "vjp"
PATTERN: Final = "TOpPatternOf"
"""The op attribute that tells the pattern of one call: `(attrs, types) -> OpPattern`."""
_PREFIX: Final = f"{NAMESPACE}."


def load_derived(name: str) -> bool:
    """Registers the derived op `vjp.<op>`; False for another name, and where no op with a declaration is meant."""
    return load_made(name, NAMESPACE, _declaration, _pattern, __file__)


def load_made(
    name: str,
    namespace: str,
    made: Callable[[OpDeclaration], OpDeclaration],
    pattern: Callable[[OpDeclaration, Attrs, Sequence[Type]], OpPattern],
    origin: str,
) -> bool:
    """Registers an op of a namespace that is made of another op; False for another name, and where none is meant.

    `pattern`: of one call.  `origin`: the file that registers it.
    """
    base = base_of(name, namespace)
    if base is None:
        return False
    op = register(made(base), origin)
    op.set_attr(PATTERN, partial(pattern, base))
    return True


def _pattern(base: OpDeclaration, attrs: Attrs, types: Sequence[Type]) -> OpPattern:
    """That of one call's expression; of one that cannot be derived, such as of symbolic shapes, nothing is known."""
    try:
        return derived_of(base, attrs, types).pattern
    except LanguageError:
        return OpPattern.OPAQUE


def vjp_op(op: Op) -> Op:
    """The derived op of a declared op. Raises RegistryError for an op without a declaration."""
    if op.get_attr("declaration") is None:
        raise RegistryError(f"op {op.name!r} has no declaration, from which a gradient could be derived")
    return Op.get(_PREFIX + op.name)


def derived_of(base: OpDeclaration, attrs: Attrs, types: Sequence[Type]) -> Derived:
    """What a call of the derived op of `base` computes."""
    return derived(base, base_attrs(base, attrs), types, attrs[wrt_name(base)])


def base_attrs(base: OpDeclaration, attrs: Attrs) -> Attrs | None:
    """The attrs of the op among those of its derived op."""
    if base.attrs is None:
        return None
    return base.attrs(**{name: attrs[name] for name in attrs if name != wrt_name(base)})


def vjp_attrs(base: OpDeclaration, attrs: Attrs | None, wrt: str) -> Attrs:
    """The attrs of the derived op."""
    kind: type[Attrs] = Op.get(_PREFIX + base.full_name).get_attr("declaration").attrs
    return kind(**({} if attrs is None else attrs.as_dict()), **{wrt_name(base): wrt})


def wrt_name(base: OpDeclaration) -> str:
    """The attr of the derived op that names the operand: `wrt`, or another name where the op has such an attr."""
    return fresh("wrt", set() if base.attrs is None else {field.name for field in base.attrs.fields()})


def _declaration(base: OpDeclaration) -> OpDeclaration:
    signature = base.signature
    taken = set(names_of(base))
    held = [
        Input(
            fresh(output.name, taken),
            None,
            "generic",
            f"The op's {output.name}.",
            True,
            output.variadic is not None,
        )
        for output in signature.outputs
    ]
    cotangents = [
        Input(
            fresh(f"grad_{output.name}", taken),
            None,
            "generic",
            f"The cotangent of {output.name}.",
            True,
            output.variadic is not None,
        )
        for output in signature.outputs
    ]
    inputs = (*signature.inputs, *held, *cotangents)
    return made_of(
        base,
        NAMESPACE,
        f"The adjoint of one operand of {base.full_name}.",
        {wrt_name(base): attr("str", doc="The operand whose adjoint is meant.")},
        (inputs, (Output(fresh("adjoint", taken)),)),
        _relate,
        _compute,
    )


def base_of(name: str, namespace: str) -> OpDeclaration | None:
    """What the op `namespace.<op>` is made of; None for another name, and where no op with a declaration is meant."""
    head, _, base = name.partition(".")
    return Op.get(base).get_attr("declaration") if head == namespace and has_op(base) else None


def made_of(
    base: OpDeclaration,
    namespace: str,
    doc: str,
    more: Mapping[str, Any],
    operands: tuple[tuple[Input, ...], tuple[Output, ...]],
    relate: Callable[..., bool],
    compute: Callable[..., Any],
    rules: tuple[Rule, ...] | None = None,
) -> OpDeclaration:
    """An op that is made of `base`, in a namespace of its own: with `more` attrs, and other inputs and outputs.

    `relate` and `compute` take the base before what type relations and computes of derived ops take.  `rules`: of the
    signature, those of the base where they are not given.
    """
    inputs, outputs = operands
    return OpDeclaration(
        name=base.full_name,
        doc=doc,
        support_level=base.support_level,
        arity=-1 if any(operand.variadic for operand in inputs) else len(inputs),
        attrs=_attrs_class(base, namespace, more),
        signature=Signature(
            inputs=inputs,
            rules=base.signature.rules if rules is None else rules,
            outputs=outputs,
            dtypes=base.signature.dtypes,
            relation=partial(relate, base),
        ),
        compute=None,
        extern=None,
        pattern=OpPattern.OPAQUE,
        source=base.source,
        digest=f"{namespace} {base.digest}",
        namespace=namespace,
        version=base.version,
        base=base,
        derive=partial(compute, base),
    )


def names_of(base: OpDeclaration) -> Iterable[str]:
    """The names that the rules of a signature use."""
    signature = base.signature
    yield from signature.dtypes
    if base.attrs is not None:
        yield from [field.name for field in base.attrs.fields()]
    for declared in signature.inputs:
        yield declared.name
        yield from [entry.removeprefix("*") for entry in declared.shape or () if isinstance(entry, str)]
    for rule in signature.rules:
        if isinstance(rule, Let):
            yield from rule.names
        elif isinstance(rule, Require) and rule.binds:
            yield rule.binds
        elif isinstance(rule, Bound):
            yield rule.attr


def fresh(name: str, taken: set[str]) -> str:
    """The name, or one like it that is not among those `taken`; it is from then on."""
    made, count = name, 1
    while made in taken:
        count += 1
        made = f"{name}{count}"
    taken.add(made)
    return made


class _DerivedAttrs(Attrs):
    """Base of the attrs of derived ops, whose classes no module holds."""

    type_key = "attrs.vjp"

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuilt, (self.op_name(), self.as_dict())


def _rebuilt(op_name: str, values: dict[str, object]) -> Attrs:
    kind: type[Attrs] = Op.get(op_name).get_attr("declaration").attrs
    return kind(**values)


def _attrs_class(base: OpDeclaration, namespace: str, more: Mapping[str, Any]) -> type[Attrs]:
    """The attrs of an op that is made of `base`: its own, and `more`."""
    fields: dict[str, Any] = (
        {} if base.attrs is None else {field.name: field for field in base.attrs.fields()}
    )
    names = {"type_key": f"attrs.{namespace}.{base.full_name}", "__module__": __name__, **fields, **more}
    name = f"{namespace}_{base.name}".title().replace("_", "").replace(".", "")
    return type(f"{name}Attrs", (_DerivedAttrs,), names)


def _relate(
    base: OpDeclaration, types: Sequence[Type], num_inputs: int, attrs: Attrs, reporter: TypeReporter
) -> bool:
    """The type relation: the result is of the operand's type; the other operands fit the op's results."""
    count = len(base.signature.inputs)
    own = tuple(types[:count])
    if not all(t.is_complete for t in types[:num_inputs]):
        return False
    binding = binding_of(base.signature, base.full_name, base_attrs(base, attrs), own, reporter.site)
    check_operands(base, binding, types[:num_inputs], reporter.site)
    position, element = operand_named(base, attrs[wrt_name(base)])
    found = own[position]
    if isinstance(found, TupleType):
        if element >= len(found.fields):
            raise RegistryError(
                f"vjp.{base.full_name}: {wrt_name(base)} is {attrs[wrt_name(base)]!r}, an operand that is absent"
            )
        found = found.fields[element]
    reporter.assign(types[num_inputs], found)
    return True


def _compute(base: OpDeclaration, binding: Binding, operands: Sequence[OperandTensors]) -> Any:
    """The op attribute "compute" of a derived op."""
    kind: type[Attrs] = Op.get(_PREFIX + base.full_name).get_attr("declaration").attrs
    attrs = kind(**{field.name: binding.names[field.name] for field in kind.fields()})
    types = tuple(
        [TupleType(t) if isinstance(t, tuple) else TupleType(()) if t is None else t for t in binding.inputs]
    )
    return over_operands(derived_of(base, attrs, types), operands)
