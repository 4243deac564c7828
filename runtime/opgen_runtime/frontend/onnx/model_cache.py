"""The cache of compiled models: what other processes have found of a model and compiled of it.

A model is known by the digest of its bytes, one whose data lies in files beside it by that of the whole.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...base import Target
from ...base.forks import importing
from ...base.vocabulary import DTYPES, DType, dataclass
from ...run.executor import program_cache
from .allowed import Limits
from .direct import Loaded
from .source import Source

if TYPE_CHECKING:
    from onnx import ModelProto

    from .decode import ModelLike
    from .graph import Model
    from .signature import Signature
    from .specialised import Specialisation

_BESIDE: Final = "beside"
"""The only fact of a model whose data lies in files beside it."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a model takes: names, dtypes and dims, -1 where they are open; and why there is no program for all sizes."""

    names: tuple[str, ...]
    dtypes: tuple[np.dtype[Any], ...]
    dims: tuple[tuple[int, ...] | None, ...]
    why_not_open: str | None


class CompiledModels:
    """`facts`: of a model that this process or another has checked; None of one not all of whose inputs are tensors."""

    def __init__(self, model: ModelLike, target: Target | None, limits: Limits) -> None:
        self._source = Source(model)
        self._target = target
        self._limits = limits
        found = self._fact()
        if found is not None and _BESIDE in found:
            self._source = Source(self._whole())
            found = self._fact()
        self.facts = None if found is None else _read(found)

    def model(self) -> Model:
        """The model itself. Raises ModelError for what cannot be read."""
        with importing:
            from .graph import Model
        source, content = self._source, self._source.content
        if self.facts is not None and source.is_message and content is not None:
            return Model(bytes(content))  # the message may be another by now
        return Model(source.given, content)

    def remember(self, model: Model, signature: Signature, why_not_open: str | None) -> None:
        """Keep what was found of the model, for this process and others."""
        with importing:
            from .signature import TensorInput
        if model.has_data_beside:
            self._keep_fact({_BESIDE: True})
            self._source = Source(model.proto)
        inputs: list[object] = []
        for each in signature.inputs:
            if not isinstance(each, TensorInput) or not isinstance(each.dtype, DType):
                return
            dims = None if each.dims is None else [d if isinstance(d, int) else -1 for d in each.dims]
            inputs.append([each.name, str(each.dtype), dims])
        made = {"inputs": inputs, "why_not_open": why_not_open}
        self._keep_fact(made)
        self.facts = _read(made)

    def takes(self, arrays: Sequence[np.ndarray]) -> bool:
        """Whether there may be programs for inputs, and the arrays fit the model."""
        if self.facts is None:
            return False
        for array, dtype, dims in zip(arrays, self.facts.dtypes, self.facts.dims, strict=True):
            if array.dtype != dtype or not array.dtype.isnative:
                return False
            if dims is not None and (
                array.ndim != len(dims)
                or not all([own in (-1, extent) for own, extent in zip(dims, array.shape, strict=True)])
            ):
                return False
        return True

    def found(self, arrays: Sequence[np.ndarray]) -> Loaded | None:
        """The program for the shapes of the arrays."""
        return self._loaded(self._key("shapes", arrays))

    def found_open(self, arrays: Sequence[np.ndarray]) -> tuple[Loaded | None, str | None]:
        """The program for all sizes that is scheduled for those of the arrays, or why there is none."""
        key = self._key("open", arrays)
        found = self._loaded(key)
        known = None if found is not None or key is None else program_cache.fact(key)
        return found, None if known is None else str(known["why"])

    def keep(self, made: Specialisation, values: Sequence[Any], is_open: bool = False) -> None:
        """Keep a program for the shapes of inputs, or for all sizes, if it is one run of an executable on them."""
        direct = made.direct if all([isinstance(value, np.ndarray) for value in values]) else None
        if direct is None or self.facts is None or not self._source.is_same():
            return
        key = self._key("open" if is_open else "shapes", values)
        if key is not None:
            facts = {"order": list(direct.order), "is_decided_by_sizes": made.is_decided_by_sizes}
            program_cache.keep(key, direct.executable, facts)

    def keep_closed(self, values: Sequence[Any], why: str) -> None:
        """Keep why there is no program for all sizes."""
        key = self._key("open", values) if self.facts is not None and self._source.is_same() else None
        if key is not None:
            program_cache.keep_fact(key, {"why": why})

    def _loaded(self, key: str | None) -> Loaded | None:
        found = None if key is None else program_cache.found(key)
        if found is None or self.facts is None:
            return None
        executable, facts = found
        return Loaded(executable, len(self.facts.dtypes), facts["order"], facts["is_decided_by_sizes"])

    def _fact(self) -> Mapping[str, Any] | None:
        key = self._key("model", ())
        return None if key is None else program_cache.fact(key)

    def _keep_fact(self, made: Mapping[str, object]) -> None:
        key = self._key("model", ())
        if key is not None:
            program_cache.keep_fact(key, made)

    def _key(self, what: str, arrays: Sequence[np.ndarray]) -> str | None:
        digest = self._source.digest
        if digest is None:
            return None
        shapes = [(array.dtype.name, array.shape) for array in arrays]
        return program_cache.program_key(
            self._target, "onnx", digest, repr(self._limits), _stamp(), what, repr(shapes)
        )

    def _whole(self) -> ModelProto:
        """The message of a model with the data that lies beside it. Raises ModelError for what cannot be read."""
        with importing:
            from .decode import load_model
        return load_model(self._source.given, self._source.content)[0]


def _read(found: Mapping[str, Any]) -> Facts:
    names, dtypes, dims = [], [], []
    for name, dtype, shape in found["inputs"]:
        assert dtype in DTYPES
        names.append(name)
        dtypes.append(DType(dtype).numpy)
        dims.append(None if shape is None else tuple(shape))
    return Facts(tuple(names), tuple(dtypes), tuple(dims), found["why_not_open"])


def _stamp() -> str:
    """What tells the version of onnx, whose functions and rules conversions go by, without importing it."""
    spec = find_spec("onnx")
    home = "" if spec is None or spec.origin is None else os.path.dirname(spec.origin)
    try:
        status = os.stat(os.path.join(home, "version.py"))
    except OSError:
        return home
    return f"{home} {status.st_size} {status.st_mtime_ns}"
