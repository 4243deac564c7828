"""The declared signature of an op: data, which `bind` runs forwards and `relate` both ways.

A generated module writes it as one literal:

    Signature(
        inputs=(Input("a", shape=("*A", "M", "K"), dtype="T"), Input("b", shape=("*B", "K", "N"), dtype="T")),
        outputs=(Output("out", shape=(Spread(lambda A, B: broadcast(A, B)), "M", "N"), dtype="T"),),
        dtypes={"T": "number"},
    )

The parameter names of a rule's function say which names it needs: inputs (objects with `.shape`, `.ndim` and
`.dtype`; None if optional and absent; a tuple if variadic), attrs, dims, dtype variables, `let` names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ...base.lazy import lazy
from .relation import RelationFunction
from .rules import Function, Input, Output, Rule


@dataclass(frozen=True, eq=False)
class Signature:
    """Operands, rules and results of an op.

    `dtypes`: dtype variable -> a class of `vocabulary.DTYPE_CLASSES`, a dtype name, or a tuple of dtype names.
    `dynamic`: data-dependent dim -> function that gives its bound; the dim is `?` in output types.
    `relation`: a hand-written type relation, or `package.module:function` naming one, that gives the results'
    types in place of the outputs' shapes and dtypes; what is declared of the inputs still holds.
    """

    inputs: tuple[Input, ...] = ()
    rules: tuple[Rule, ...] = ()
    outputs: tuple[Output, ...] = ()
    dtypes: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    dynamic: Mapping[str, Function] = field(default_factory=dict)
    relation: RelationFunction | str | None = None

    @lazy
    def returns_tuple(self) -> bool:
        """Whether a call's type is a tuple: several outputs, or a variadic one."""
        return len(self.outputs) != 1 or self.outputs[0].variadic is not None
