"""The class that ONNX's own test machinery runs: `onnx.backend.base.Backend`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper
from onnx import defs as schemas
from onnx.backend import base

from ...base.errors import OpgenError
from .element_types import element_type_of
from .errors import ModelError
from .program import Program
from .signature import admitted


class BackendRep(base.BackendRep):
    """A prepared model."""

    def __init__(self, program: Program) -> None:
        self.program = program

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs for the inputs, in the graph's order."""
        given = inputs if isinstance(inputs, Sequence | dict) else (inputs,)
        return tuple(self.program(given))


class Backend(base.Backend):
    """Models on this machine's CPU."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether every operator and every input of the model is supported."""
        try:
            Program(model)
        except OpgenError:
            return False
        return cls.supports_device(device)

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> BackendRep:
        """Raises UnsupportedOperatorError, ModelError."""
        if not cls.supports_device(device):
            raise ModelError(f"device {device!r}; there is only CPU")
        return BackendRep(Program(model))

    @classmethod
    def run_model(cls, model: ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """One node as a model of its own, at opset `opset_version` (the newest by default)."""
        names = [name for name in node.input if name]
        arrays = [admitted(str(position), each) for position, each in enumerate(inputs)]
        if len(arrays) != len(names):
            raise ModelError(f"the node has {len(names)} inputs ({', '.join(names)}), found {len(arrays)}")
        given = [
            helper.make_tensor_value_info(name, element_type_of(array.dtype.name), array.shape)
            for name, array in zip(names, arrays, strict=True)
        ]
        outputs = [helper.make_tensor_value_info(o, TensorProto.UNDEFINED, None) for o in node.output if o]
        version = kwargs.get("opset_version", schemas.onnx_opset_version())
        model = helper.make_model(
            helper.make_graph([node], "node", given, outputs),
            opset_imports=[helper.make_opsetid(node.domain, version)],
        )
        return cls.run_model(model, arrays, device)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device.partition(":")[0] == "CPU"
