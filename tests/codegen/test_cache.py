"""The object cache: private directory, checksums, damage."""

from __future__ import annotations

import os
import stat

import pytest

from opgen_runtime.codegen.objects.cache import ObjectCache, default_cache, why_not_trusted

KEY = "0" * 32


@pytest.fixture
def cache(tmp_path):
    return ObjectCache(tmp_path / "kernels")


def test_what_is_put_is_found(cache):
    cache.put(KEY, b"code\nwith lines", {"symbol": "f", "imports": ["expf"]})
    entry = cache.get(KEY)
    assert entry is not None
    assert (entry.object_code, entry.metadata) == (b"code\nwith lines", {"symbol": "f", "imports": ["expf"]})
    assert cache.get("1" * 32) is None
    assert stat.S_IMODE(cache.directory.stat().st_mode) == 0o700
    assert [p.name for p in cache.directory.iterdir()] == [f"{KEY}.o"]
    assert cache.clear() == 1
    assert cache.get(KEY) is None


def test_nothing_is_made_by_looking(cache):
    assert cache.get(KEY) is None
    assert not cache.directory.exists()


@pytest.mark.parametrize("position", range(0, 130, 7))
def test_a_damaged_entry_is_absent_and_removed(cache, position):
    cache.put(KEY, bytes(range(100)), {"symbol": "f"})
    path = cache.directory / f"{KEY}.o"
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(content)
    assert cache.get(KEY) is None
    assert not path.exists()


def test_a_truncated_entry_is_absent(cache):
    cache.put(KEY, bytes(100), {"symbol": "f"})
    path = cache.directory / f"{KEY}.o"
    path.write_bytes(path.read_bytes()[:-1])
    assert cache.get(KEY) is None


def test_an_entry_under_another_key_is_refused(cache):
    cache.put(KEY, b"code", {})
    (cache.directory / f"{KEY}.o").rename(cache.directory / f"{'1' * 32}.o")
    assert cache.get("1" * 32) is None


@pytest.mark.parametrize("mode", [0o720, 0o702, 0o775, 0o770, 0o777])
def test_a_directory_that_others_can_write_to_turns_the_cache_off(tmp_path, mode):
    directory = tmp_path / "kernels"
    directory.mkdir()
    directory.chmod(mode)
    cache = ObjectCache(directory)
    with pytest.warns(RuntimeWarning, match="the kernel cache is off"):
        cache.put(KEY, b"code", {})
    assert cache.get(KEY) is None
    assert list(directory.iterdir()) == []


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755])
def test_a_directory_that_others_can_read_is_used(tmp_path, mode):
    directory = tmp_path / "kernels"
    directory.mkdir()
    directory.chmod(mode)
    cache = ObjectCache(directory)
    cache.put(KEY, b"code", {})
    assert cache.get(KEY).object_code == b"code"
    assert stat.S_IMODE((directory / f"{KEY}.o").stat().st_mode) == 0o600


def test_a_directory_of_another_user_turns_the_cache_off(tmp_path, monkeypatch):
    (tmp_path / "kernels").mkdir()
    monkeypatch.setattr(os, "getuid", lambda: os.stat(tmp_path).st_uid + 1)
    assert why_not_trusted(tmp_path / "kernels") == "belongs to another user"


@pytest.mark.parametrize("name", ["a" * 300, "a/" * 3000], ids=["name", "path"])
def test_a_directory_of_too_long_a_name_turns_the_cache_off_with_one_warning(tmp_path, name):
    cache = ObjectCache(tmp_path / name)
    with pytest.warns(
        RuntimeWarning, match=r"the kernel cache is off: .* cannot be examined \(File name too long\)"
    ) as seen:
        assert cache.get(KEY) is None
    cache.put(KEY, b"code", {})  # no second warning, which would be an error
    assert cache.folder("programs", create=True) is None
    assert cache.clear() == 0
    (warning,) = seen
    assert len(str(warning.message)) < 300


def test_a_link_is_not_a_directory(tmp_path):
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert why_not_trusted(tmp_path / "link") == "is not a directory"


def test_the_environment_names_the_directory_or_turns_it_off(tmp_path, monkeypatch):
    monkeypatch.setenv("OPGEN_CACHE_DIR", os.fspath(tmp_path / "mine"))
    assert default_cache().directory == tmp_path / "mine"
    monkeypatch.setenv("OPGEN_CACHE_DIR", "")
    assert default_cache().directory is None
    assert default_cache().get(KEY) is None
    default_cache().put(KEY, b"code", {})
