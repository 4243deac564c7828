"""The global function registry and its namespaces."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType

import pytest

from opgen_runtime.base.errors import RegistryError
from opgen_runtime.operator.registry import (
    _init_api,
    get_global_func,
    has_global_func,
    list_global_func_names,
    register_func,
    remove_global_func,
)


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    for name in list_global_func_names("test_func"):
        remove_global_func(name)
    for name in list_global_func_names("test_funcX"):
        remove_global_func(name)


def test_register_and_get() -> None:
    @register_func("test_func.one")
    def one() -> int:
        return 1

    assert get_global_func("test_func.one") is one
    assert register_func("test_func.one", one) is one  # the same function again
    with pytest.raises(RegistryError, match=r"'test_func\.one' is already registered .*; pass override=True"):
        register_func("test_func.one", lambda: 2)
    register_func("test_func.one", lambda: 2, override=True)
    assert get_global_func("test_func.one")() == 2
    assert has_global_func("test_func.one")
    assert not has_global_func("test_func.two")


def test_errors() -> None:
    register_func("test_func.alpha", lambda: 1)
    with pytest.raises(
        RegistryError, match=r"no global function 'test_func\.alpa'; did you mean 'test_func\.alpha'"
    ):
        get_global_func("test_func.alpa")
    with pytest.raises(RegistryError, match="is no dotted name"):
        register_func("test func", lambda: 1)
    with pytest.raises(RegistryError, match="to remove"):
        remove_global_func("test_func.beta")


def test_a_namespace_sees_late_registrations_and_only_its_own() -> None:
    api = _init_api("test_func.make")
    register_func("test_func.make.a", lambda: "a")
    register_func("test_func.makeX.b", lambda: "b")
    register_func("test_func.make.deeper.c", lambda: "c")
    assert api.a() == "a"
    assert dir(api) == ["a"]
    with pytest.raises(AttributeError, match=r"no function 'test_func\.make\.b' is registered"):
        _ = api.b
    with pytest.raises(AttributeError):
        _ = api.X
    assert list_global_func_names("test_func.make") == ["test_func.make.a", "test_func.make.deeper.c"]
    assert _init_api("test_func.make.deeper").c() == "c"


def test_a_module_as_namespace() -> None:
    module = ModuleType("test_func_module")
    module.own = 1  # type: ignore[attr-defined]
    sys.modules["test_func_module"] = module
    try:
        _init_api("test_func.api", "test_func_module")
        register_func("test_func.api.late", lambda: 5)
        assert module.late() == 5
        assert module.own == 1
        assert {"late", "own"} <= set(dir(module))
        with pytest.raises(AttributeError, match="did you mean 'late'"):
            _ = module.lat
    finally:
        del sys.modules["test_func_module"]
    with pytest.raises(RegistryError, match="no such module is imported"):
        _init_api("test_func.api", "test_func_module")
