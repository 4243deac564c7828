"""Large results share buffers over time, and never at the same time."""

from __future__ import annotations

import gc

import numpy as np

from opgen_runtime.run.compile.native.buffers import MIN_POOLED_BYTES, BufferPool

F32 = np.dtype("float32")
SHAPE = (MIN_POOLED_BYTES // 4 + 3,)


def test_a_buffer_returns_when_its_last_view_is_gone() -> None:
    pool = BufferPool()
    first = pool.empty(SHAPE, F32)
    first[:] = 7
    where = first.ctypes.data
    assert where % 4096 == 0  # the start of a page
    assert first.flags.c_contiguous
    assert first.flags.writeable
    view = first[1:].reshape(-1, 1)
    del first
    gc.collect()
    assert pool.free_list_bytes == 0
    other = pool.empty(SHAPE, F32)
    assert other.ctypes.data != where
    assert view[0, 0] == 7
    del view
    gc.collect()
    assert pool.free_list_bytes > 0
    assert pool.empty(SHAPE, F32).ctypes.data == where


def test_a_lease_that_is_looked_at_ends_once() -> None:
    pool = BufferPool()
    lease = pool.empty(SHAPE, F32).base
    assert isinstance(lease, np.ndarray)
    part = lease[:8]
    del part
    gc.collect()
    assert pool.free_list_bytes == 0
    del lease
    gc.collect()
    assert pool.free_list_bytes > MIN_POOLED_BYTES
    assert pool.free_list_bytes < 2 * MIN_POOLED_BYTES


def test_small_results_are_numpys_own() -> None:
    pool = BufferPool()
    assert pool.empty((4, 4), F32).flags.owndata
    assert pool.free_list_bytes == 0


def test_what_is_kept_is_bounded() -> None:
    pool = BufferPool(limit=MIN_POOLED_BYTES)
    del (given := [pool.empty(SHAPE, F32) for _ in range(3)])[:]
    gc.collect()
    assert given == []
    assert pool.free_list_bytes == 0
    pool = BufferPool(limit=3 * MIN_POOLED_BYTES)
    arrays = [pool.empty(SHAPE, F32) for _ in range(5)]
    arrays.clear()
    gc.collect()
    assert 0 < pool.free_list_bytes <= 3 * MIN_POOLED_BYTES
    pool.clear()
    assert pool.free_list_bytes == 0


def test_every_dtype_and_rank() -> None:
    pool = BufferPool()
    for name in ("bool", "int8", "uint16", "float16", "float64", "uint64"):
        dtype = np.dtype(name)
        array = pool.empty((2, MIN_POOLED_BYTES // dtype.itemsize, 1), dtype)
        assert array.dtype == dtype
        assert array.shape == (2, MIN_POOLED_BYTES // dtype.itemsize, 1)
