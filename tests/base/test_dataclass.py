"""Our `dataclass` makes what that of the standard library makes: random classes, made by both, behave alike."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import random
import re
import sys
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field
from itertools import product
from typing import Any, ClassVar

import pytest

from opgen_runtime.base.vocabulary import dataclass as ours

NAMES = ("a", "b", "self", "other", "cls", "name", "object", "_x")
NAN = float("nan")  # in a dataclass it is equal to itself before Python 3.13 alone
VALUES = (1, 2.5, "text", (1, 2), None, *((NAN,) if sys.version_info < (3, 13) else ()))


def namespace(chooser: random.Random, names: tuple[str, ...]) -> dict[str, Any]:
    """The body of a class of some of the fields."""
    body: dict[str, Any] = {"__annotations__": {}, "__module__": __name__, "__qualname__": "Made"}
    defaulted = False
    for name in names:
        keywords: dict[str, Any] = {}
        for option in ("repr", "compare", "hash", "kw_only"):
            if chooser.random() < 0.1:
                keywords[option] = chooser.random() < 0.5
        kind = chooser.randrange(4) if not defaulted else chooser.randrange(1, 3)
        if kind == 1:
            keywords["default"] = chooser.choice(VALUES)
        elif kind == 2:
            keywords["default_factory"] = list if chooser.random() < 0.1 else tuple
        if kind in (1, 2):
            keywords["init"] = chooser.random() < 0.8
        defaulted |= kind in (1, 2) and not keywords.get("kw_only", False) and keywords["init"]
        body["__annotations__"][name] = "int"
        if keywords:
            body[name] = field(**keywords)
    if chooser.random() < 0.2:
        body["__annotations__"]["shared"] = ClassVar[int]
        body["shared"] = 3
    if chooser.random() < 0.2:
        body["__post_init__"] = lambda self: NOTED.append(self)
    if chooser.random() < 0.1:
        body["__repr__"] = lambda self: "mine"
    if chooser.random() < 0.1:
        body["__eq__"] = lambda self, other: NotImplemented
    if chooser.random() < 0.1:
        body["__hash__"] = lambda self: 5
    if chooser.random() < 0.5:
        body["__doc__"] = "A class."
    return body


NOTED: list[object] = []


def outcome(work: Callable[[], object]) -> object:
    try:
        return re.sub("0x[0-9a-f]+", "ADDRESS", repr(work()))
    except (TypeError, AttributeError, FrozenInstanceError) as error:
        return type(error), str(error)


def number(one: object) -> int:
    """The hash, or 0 where it is that of the object itself."""
    return 0 if type(one).__hash__ is object.__hash__ else hash(one)


def seen(cls: Any, chooser: random.Random) -> list[object]:
    """All that can be asked of a class and its objects."""
    found: list[object] = [
        str(inspect.signature(cls)),
        cls.__match_args__,
        cls.__slots__,
        cls.__bases__[0].__name__,
    ]
    found += [repr(dataclasses.fields(cls)), repr(cls.__dataclass_params__), cls.__init__.__qualname__]
    found.append(cls.__hash__ is None)
    parameters = list(inspect.signature(cls).parameters.values())
    made = []
    for _ in range(4):
        given = {
            p.name: chooser.choice(VALUES)
            for p in parameters
            if p.default is p.empty or chooser.random() < 0.5
        }
        made.append(cls(**given))
    found.append(outcome(lambda: cls(*range(len(parameters)))))
    found.append(outcome(lambda: cls(*range(len(parameters) + 1))))
    found.append(outcome(lambda: cls(nothing=1)))
    found.append(len(NOTED))
    for one, other in product(made, made):
        found += [one == other, one != other, outcome(lambda one=one: number(one))]
    for one in made:
        found += [
            outcome(lambda one=one: repr(one)),
            outcome(lambda one=one: dataclasses.asdict(one)),
            one == copy.copy(one),
        ]
        found.append(outcome(lambda one=one: dataclasses.replace(one)))
        found.append(outcome(lambda one=one: pickle.loads(pickle.dumps(one))))
        for name in [each.name for each in dataclasses.fields(cls)]:
            found.append(outcome(lambda one=one, name=name: setattr(one, name, 1)))
            found.append(outcome(lambda one=one, name=name: delattr(one, name)))
    return found


@pytest.mark.parametrize("seed", range(60))
def test_classes_are_those_of_the_standard_library(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    results = []
    for make in (dataclass, ours):
        chooser = random.Random(seed)
        names = tuple(chooser.sample(NAMES, chooser.randrange(len(NAMES))))
        options = {"eq": chooser.random() < 0.7, "repr": chooser.random() < 0.8}
        cls = make(**options, frozen=True, slots=True)(type("Made", (), namespace(chooser, names)))
        if chooser.random() < 0.4:  # a subclass: of either kind, or with attributes of its own
            further = namespace(chooser, tuple(f"{name}2" for name in names[:2]))
            for name in further["__annotations__"].keys() - {"shared"}:
                further[name] = field(default=7)
            kind = chooser.randrange(3)
            cls = type("Made", (cls,), further if kind else {"__module__": __name__, "__qualname__": "Made"})
            if kind:
                cls = (make if kind == 1 else dataclass)(frozen=True, slots=True)(cls)
        monkeypatch.setattr(sys.modules[__name__], "Made", cls, raising=False)
        NOTED.clear()
        results.append(seen(cls, chooser))
    for one, other in zip(*results, strict=True):
        assert one == other


def test_objects_with_the_same_nan_are_equal() -> None:
    made = ours(frozen=True, slots=True)(type("Made", (), {"__annotations__": {"a": "float"}}))
    assert made(NAN) == made(NAN)
    assert made(NAN) != made(float("nan"))


def test_no_attribute_can_be_added_but_in_subclasses() -> None:
    """Where that of the standard library raises TypeError in some versions of Python."""
    made = ours(frozen=True, slots=True)(type("Made", (), {"__annotations__": {"a": "int"}}))
    one, other = made(1), type("Open", (made,), {})(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'b'"):
        one.b = 2
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'b'"):
        del one.b
    other.b = 2
    del other.b
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'a'"):
        other.a = 2


def test_a_circle_is_shown() -> None:
    made = ours(frozen=True, slots=True)(
        type("Made", (), {"__annotations__": {"a": "list"}, "__qualname__": "Made"})
    )
    one = made([])
    one.a.append(one)
    assert repr(one) == "Made(a=[...])"


def test_other_kinds_are_those_of_the_standard_library() -> None:
    @ours(slots=True)
    class Open:
        a: int = 1

    @ours(frozen=True, slots=True, order=True)
    class Ordered:
        a: int = 1

    one = Open()
    one.a = 2
    assert one == Open(2)
    assert Ordered(1) < Ordered(2)
    with pytest.raises(TypeError, match="__setattr__"):
        ours(frozen=True, slots=True)(type("Made", (), {"__setattr__": lambda self, name, value: None}))
