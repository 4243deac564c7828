"""The declared signature of an op: one object that is run forwards (`bind`) and backwards (`relation`).

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...base.errors import TypeInferenceError, call_site
from ...base.lazy import lazy
from .arguments import group_arguments
from .backward import infer_backwards
from .binding import Binding
from .frame import Frame
from .plan import Plan, make_plan, make_steps
from .reporter import TypeReporter
from .rules import Bound, Function, Input, Let, Output, Require, Rule, Spread, Static
from .seam import as_types, run_seam
from .type import RelationFunction, TensorType, Type

__all__ = ["Bound", "Input", "Let", "Output", "Require", "Signature", "Spread", "Static"]


@dataclass(frozen=True, eq=False)
class Signature:
    """Operands, rules and results of an op.

    `dtypes`: dtype variable -> a class of `vocabulary.DTYPE_CLASSES`, a dtype name, or a tuple of dtype names.
    `dynamic`: data-dependent dim -> function that gives its bound; the dim is `?` in output types.
    `seam`: a hand-written type relation, or `package.module:function` naming one, that gives the results'
    types in place of the outputs' shapes and dtypes; what is declared of the inputs still holds.
    """

    inputs: tuple[Input, ...] = ()
    rules: tuple[Rule, ...] = ()
    outputs: tuple[Output, ...] = ()
    dtypes: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    dynamic: Mapping[str, Function] = field(default_factory=dict)
    seam: RelationFunction | str | None = None
    _plans: dict[object, Plan] = field(default_factory=dict, init=False, repr=False)

    @lazy
    def returns_tuple(self) -> bool:
        """Whether a call's type is a tuple: several outputs, or a variadic one."""
        return len(self.outputs) != 1 or self.outputs[0].variadic is not None

    def bind(
        self,
        op_name: str,
        attrs: Any,
        input_types: Sequence[Any],
        arg_names: Sequence[str | None] | None = None,
        site: object | None = None,
    ) -> Binding:
        """Binds a call whose input types are known.

        `input_types`: one entry an operand: a TensorType; None for an absent optional one; a TupleType or a
        sequence for a variadic one, whose tensors may also stand in line.  `arg_names`: how the caller names
        the operands, for messages.  `site`: where the call stands (any object with a text); without it the
        caller's frame is named.

        Raises CallError (number and kind of operands), ShapeError, DTypeError, AttrError (bounds that need
        inputs); each names op, operand or attr, expected, found and site.
        """
        groups = group_arguments(self, op_name, input_types, site)
        for declared, group in zip(self.inputs, groups, strict=True):
            if type(group) is not TensorType and not _known(group):
                where = site if site is not None else call_site()
                raise TypeInferenceError(
                    f"{op_name}: the type of argument {declared.name!r} is not known\n  at {where}"
                )
        frame = Frame(self, op_name, attrs, groups, arg_names, site)
        mask = tuple([group is None for group in groups]) if None in groups else None
        key = (type(attrs), mask)
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = make_plan(self, op_name, attrs, groups)
        return plan.run(frame)

    def relation(self, types: Sequence[Type], num_inputs: int, attrs: Any, reporter: TypeReporter) -> bool:
        """The type relation: `types` are those of the inputs, then the result's.

        Infers the result from the inputs, and inputs from the other inputs, the attrs and the result.  True
        when all is known, False when not enough is known yet; raises like `bind` for a mistake of the user.
        """
        operands: list[Any] = list(types[:num_inputs])
        result = types[num_inputs]
        groups = group_arguments(self, reporter.op_name, operands, reporter.site)
        if not all(_known(group) for group in groups):
            steps = make_steps(self, () if attrs is None else tuple(attrs.keys()))
            groups = infer_backwards(self, groups, attrs, result, reporter, steps)
            if not all(_known(group) for group in groups):
                if self.seam is None:
                    return False
                return run_seam(self.seam, as_types(groups), result, attrs, reporter)
        binding = self.bind(reporter.op_name, attrs, groups, site=reporter.site)
        reporter.assign(result, binding.result_type)
        for assumption in binding.undecided:
            reporter.assume(assumption)
        return True


def _known(group: object) -> bool:
    if isinstance(group, tuple):
        return all(type(t) is TensorType for t in group)
    return group is None or type(group) is TensorType
