"""Memory is returned to the system."""

from __future__ import annotations

import ctypes
import platform

import psutil
import pytest

from driftway.worker.stream.memory import trim_heap

BLOCK, BLOCKS = 1000, 60_000


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc can be asked")
def test_free_memory_below_a_block_in_use_is_returned() -> None:
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = (
        ctypes.c_void_p,
        [ctypes.c_size_t],
        [ctypes.c_void_p],
    )
    blocks = [libc.malloc(BLOCK) for _ in range(BLOCKS)]
    for block in blocks:
        ctypes.memset(block, 1, BLOCK)
    for block in blocks[:-1]:  # the last one keeps the heap from shrinking by itself
        libc.free(block)
    before = psutil.Process().memory_info().rss
    trim_heap()
    freed = before - psutil.Process().memory_info().rss
    libc.free(blocks[-1])
    assert freed > BLOCK * BLOCKS / 2
