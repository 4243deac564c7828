"""Inference of inputs that are not known, from the other inputs, the attrs and the result.

Rules are taken as their names become known, to a fixpoint; each unknown input whose dims and element type have
become known is assigned.  Result shapes run backwards where an entry is a name, or a name times, plus or minus
a static value, and where they are an input's shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....base.arith import dim
from ....base.arith.expr import Binary, Const, Dim, Expr, Var
from ....base.errors import DTypeError, ShapeError, UndecidedError
from ....base.vocabulary import DTYPES
from ..binding.frame import Frame, RuleFailedError, value_of
from ..binding.patterns import entry_text
from ..binding.steps import PatternStep, Step, allowed_dtypes
from ..relation import TypeReporter
from ..rules import Input, Output, Spread, Static, needs_of
from ..signature import Signature
from ..type import IncompleteType, TensorType, TupleType, Type


def infer_backwards(
    signature: Signature,
    groups: Sequence[Any],
    attrs: Any,
    result: Type,
    reporter: TypeReporter,
    steps: Sequence[Step],
) -> tuple[Any, ...]:
    """The operands, with those that could be inferred filled in and assigned. Raises like `Signature.bind`."""
    frame = Frame(signature, reporter.op_name, attrs, groups, None, reporter.site)
    return _Backward(signature, frame, list(groups), result, reporter, steps).run()


class _Backward:
    def __init__(
        self,
        signature: Signature,
        frame: Frame,
        groups: list[Any],
        result: Type,
        reporter: TypeReporter,
        steps: Sequence[Step],
    ) -> None:
        self.signature, self.frame, self.groups, self.reporter = signature, frame, groups, reporter
        self.waiting = list(steps)
        self.known: set[str] = set(frame.names)
        for declared, group in zip(signature.inputs, groups, strict=True):
            if not _complete(group):
                self.known.discard(declared.name)
                del frame.names[declared.name]
        self.results = _results(signature, result)

    def run(self) -> tuple[Any, ...]:
        progress = True
        while progress:
            progress = self._take_steps() | self._read_results() | self._fill_inputs()
        return tuple(self.groups)

    def _take_steps(self) -> bool:
        remaining = []
        for step in self.waiting:
            if not step.ready(self.known):
                remaining.append(step)
                continue
            try:
                step.run(self.frame)
            except RuleFailedError as failure:
                raise failure.error from failure.__cause__
            self.known |= {name for name in step.gives if name in self.frame.names}
            if isinstance(step, PatternStep):
                self.known.add(f"{step.declared.name}:matched")
        progress = len(remaining) < len(self.waiting)
        self.waiting = remaining
        return progress

    # from the result

    def _read_results(self) -> bool:
        progress = False
        for output, found in list(self.results):
            shape = output.shape
            if isinstance(output.dtype, str):
                progress |= self._read_dtype(output, output.dtype, found)
            if isinstance(shape, tuple) and output.layout is None:
                progress |= self._read_entries(output, shape, found)
        return progress

    def _read_dtype(self, output: Output, dtype: str, found: TensorType) -> bool:
        if dtype not in self.signature.dtypes:
            return False
        known = self.frame.names.get(dtype)
        if known is None:
            if found.dtype not in allowed_dtypes(self.signature.dtypes[dtype]):
                raise self.frame.error(
                    DTypeError,
                    f"result {output.name!r} has dtype {found.dtype}, expected {self.signature.dtypes[dtype]}",
                )
            return self._give(dtype, found.dtype)
        if known is not found.dtype:
            raise self.frame.error(
                DTypeError, f"result {output.name!r} has dtype {found.dtype}, but {dtype} is {known}"
            )
        return False

    def _read_entries(self, output: Output, entries: tuple[Any, ...], found: TensorType) -> bool:
        spans = self._spans(entries, found)
        if spans is None:
            return False
        progress = False
        for entry, (start, stop) in zip(entries, spans, strict=True):
            if isinstance(entry, str):
                name = entry.removeprefix("*")
                if name in self.known or name in self.signature.dynamic or not self._binds(name):
                    continue
                progress |= self._give(name, found.shape[start] if name == entry else found.shape[start:stop])
            elif isinstance(entry, Static):
                progress |= self._solve(output, entry, found.shape[start])
        return progress

    def _spans(self, entries: tuple[Any, ...], found: TensorType) -> list[tuple[int, int]] | None:
        """The dims of each entry, or None where starred entries leave that open."""
        widths: list[int | None] = []
        for entry in entries:
            if isinstance(entry, Spread):
                widths.append(None)
            elif isinstance(entry, str) and entry[0] == "*":
                value = self.frame.names.get(entry[1:])
                widths.append(len(value) if isinstance(value, tuple) else None)
            elif len(entries) == 1 and not isinstance(entry, int) and len(found.shape) != 1:
                return None  # a lone name may be the whole shape
            else:
                widths.append(1)
        rest = len(found.shape) - sum(width or 0 for width in widths)
        open_entries = widths.count(None)
        if open_entries > 1 or rest < 0 or (open_entries == 0 and rest):
            return None
        spans, position = [], 0
        for width in widths:
            stop = position + (rest if width is None else width)
            spans.append((position, stop))
            position = stop
        return spans

    def _binds(self, name: str) -> bool:
        return any(name in step.gives for step in self.waiting if isinstance(step, PatternStep))

    def _solve(self, output: Output, entry: Static, found: Dim) -> bool:
        """Binds the one unknown name of an equation that is linear in it."""
        needs = needs_of(entry.function)
        unknown = [name for name in needs if name not in self.known]
        if len(unknown) != 1 or not self._binds(unknown[0]):
            return False
        probe = dim(unknown[0])
        names = self.frame.names
        names[unknown[0]] = probe
        try:
            value = self.frame.evaluate(entry.function, needs, entry_text(entry))
        except (RuleFailedError, UndecidedError):
            return False
        finally:
            del names[unknown[0]]
        solved = _invert(value, probe, found)
        if solved is None:
            return False
        if isinstance(solved, str):
            raise self.frame.error(
                ShapeError,
                f"result {output.name!r}: dim{value_of(found)} cannot be {entry_text(entry)}: {solved}",
            )
        return self._give(unknown[0], solved)

    def _give(self, name: str, value: Any) -> bool:
        self.frame.names[name] = value
        self.known.add(name)
        return True

    # the inputs

    def _fill_inputs(self) -> bool:
        progress = False
        for position, declared in enumerate(self.signature.inputs):
            group = self.groups[position]
            if _complete(group):
                continue
            if isinstance(group, tuple):
                filled: Any = tuple(
                    self._infer(declared, t) if isinstance(t, IncompleteType) else t for t in group
                )
                changed = filled != group
            else:
                filled = None if declared.variadic else self._infer(declared, group)
                changed = isinstance(filled, TensorType)
            if changed:
                self.groups[position] = filled
            if changed and _complete(filled):
                self._give(declared.name, self.frame.canonical(declared, filled))
                progress = True
        return progress

    def _infer(self, declared: Input, target: IncompleteType) -> Any:
        dtype = self._input_dtype(declared)
        shape = self._input_shape(declared)
        if dtype is None or shape is None:
            return target
        inferred = TensorType(shape, dtype)
        self.reporter.assign(target, inferred)
        return inferred

    def _input_dtype(self, declared: Input) -> str | None:
        spec = declared.dtype
        if isinstance(spec, str) and spec in self.signature.dtypes:
            known = self.frame.names.get(spec)
            if known is not None:
                return str(known)
            spec = self.signature.dtypes[spec]
        for output, found in self.results:
            if output.dtype == f"{declared.name}.dtype":
                return found.dtype
        allowed = allowed_dtypes(spec)
        return allowed[0] if len(allowed) == 1 and allowed[0] in DTYPES else None

    def _input_shape(self, declared: Input) -> Sequence[Dim] | None:
        """The stored shape of an unknown input, if all its dims are known."""
        for output, found in self.results:
            if output.shape == f"{declared.name}.shape" and output.layout == declared.layout:
                return found.shape
        if declared.shape is None:
            return None
        dims: list[Dim] = []
        for entry in declared.shape:
            value = self._entry_value(entry)
            if value is None:
                return None
            if isinstance(value, (tuple, list)):
                dims.extend(value)
            else:
                dims.append(value)
        return self.frame.stored_shape(declared, dims)

    def _entry_value(self, entry: Any) -> Any:
        if isinstance(entry, str):
            return self.frame.names.get(entry.removeprefix("*"))
        if not isinstance(entry, (Static, Spread)):
            return entry
        needs = needs_of(entry.function)
        if not self.known.issuperset(needs):
            return None
        try:
            return self.frame.evaluate(entry.function, needs, entry_text(entry))
        except UndecidedError:
            return None
        except RuleFailedError as failure:
            raise failure.error from failure.__cause__


def _complete(group: Any) -> bool:
    if isinstance(group, tuple):
        return all(type(t) is TensorType for t in group)
    return group is None or type(group) is TensorType


def _results(signature: Signature, result: Type) -> list[tuple[Output, TensorType]]:
    """The declared outputs whose types are known."""
    if not signature.returns_tuple:
        return [(signature.outputs[0], result)] if isinstance(result, TensorType) else []
    if not isinstance(result, TupleType) or any(output.variadic for output in signature.outputs):
        return []
    if len(result.fields) != len(signature.outputs):
        return []
    return [
        (o, t) for o, t in zip(signature.outputs, result.fields, strict=True) if isinstance(t, TensorType)
    ]


def _invert(value: Any, probe: Var, found: Dim) -> Dim | str | None:
    """The value of `probe` for which `value == found`; a text says why there is none; None if it cannot be told."""
    if value is probe:
        return found
    if not isinstance(value, Binary):
        return None
    a, b = value.a, value.b
    if b is probe and value.op in ("add", "mul"):
        a, b = b, a
    if a is not probe or _mentions(b, probe):
        return None
    other: Dim = int(b.value) if isinstance(b, Const) else b
    if value.op == "add":
        return _checked(found - other)
    if value.op == "sub":
        return _checked(found + other)
    if value.op != "mul":
        return None
    if isinstance(found, int) and isinstance(other, int):
        if other == 0 or found % other:
            return f"{found} is not a multiple of {other}"
        return found // other
    return found // other


def _checked(d: Dim) -> Dim | str:
    return f"it would be {d}" if isinstance(d, int) and d < 0 else d


def _mentions(e: Expr, probe: Var) -> bool:
    return e is probe or any(_mentions(child, probe) for child in e.children())
