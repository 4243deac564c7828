"""One version of an op, ready to be called on types and on values."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from opgen_runtime.base.errors import OpgenError
from opgen_runtime.compute import lang, te
from opgen_runtime.operator.types import Binding, bind
from opgen_runtime.testing.data import Spec, ordinary

from ..analyse.proofs.assemble import Assembled, Assembler
from ..analyse.proofs.located import PYTHON_ERRORS, message_of
from ..analyse.proofs.samples import case_samples
from ..model import AttrValue, CheckedCase, CheckedOp

ERRORS = (OpgenError, RecursionError, *PYTHON_ERRORS)


class Version:
    """An op as one version of the declarations says it."""

    def __init__(self, op: CheckedOp) -> None:
        self.op = op
        assembler = Assembler(op.callees)
        attrs = assembler.attrs(op.name, op.attrs)
        signature = assembler.signature(op.signature, op.attrs, attrs)
        compute = None if op.compute is None else assembler.compute(op.compute)
        self._assembled = Assembled(signature, compute, attrs)
        self._assembler = assembler  # whose functions find it while it is held

    def completed(self, attrs: Mapping[str, AttrValue]) -> dict[str, AttrValue]:
        """The attrs of a call with the defaults of this version."""
        return {attr.name: attrs.get(attr.name, attr.default) for attr in self.op.attrs}

    def bind(self, case: CheckedCase) -> Binding | str:
        """What a call's types give, or why it is refused."""
        self._assembler.meter.reset()
        try:
            made = None if self._assembled.attrs is None else self._assembled.attrs(**case.attrs)
            (sample,) = case_samples((case,))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return bind(self._assembled.signature, self.op.name, made, sample.operands, site="")
        except ERRORS as error:
            return message_of(error)

    def types(self, case: CheckedCase) -> str | None:
        """The type of the result of a call as text; None of one that is refused."""
        found = self.bind(case)
        return None if isinstance(found, str) else str(found.result_type)

    def values(self, case: CheckedCase, seeds: Mapping[str, str] | None = None) -> list[np.ndarray] | None:
        """The results of a call on seeded values; None of one that is refused, or that Python computes.

        `seeds`: of operands whose values are not seeded by their own names.
        """
        found = self.bind(case)
        if isinstance(found, str) or self._assembled.compute is None:
            return None
        operands: list[Any] = []
        feeds: dict[te.Tensor, np.ndarray] = {}
        for name, text in case.inputs.items():
            seed = (seeds or {}).get(name, name)
            group = tuple(
                self._feed(f"{seed}{place}", each, feeds)
                for place, each in enumerate(text if isinstance(text, tuple) else (text,))
                if each is not None
            )
            operands.append(group if isinstance(text, tuple) else group[0] if group else None)
        try:
            outputs = lang.build(self._assembled, found, operands)
            with np.errstate(all="ignore"):
                return list(te.evaluate(list(outputs), feeds))
        except ERRORS:
            return None

    def _feed(self, name: str, text: str, feeds: dict[te.Tensor, np.ndarray]) -> te.Tensor:
        spec = Spec.parse(text)
        tensor = te.placeholder(name, spec.shape, str(spec.dtype))
        feeds[tensor] = ordinary(spec, name)
        return tensor
