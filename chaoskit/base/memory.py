"""Memory allocation: checking a history allocates and frees arrays of hundreds of megabytes."""

from __future__ import annotations

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4
_NEVER = -1


def keep_freed_memory() -> None:
    """Have glibc reuse freed memory instead of returning it to the kernel.

    Otherwise the kernel maps and zeroes every large array again, which takes half of the time to check
    100 million messages. Does nothing without glibc.

    See mallopt(3).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_MAX, 0)
        mallopt(_M_TRIM_THRESHOLD, _NEVER)
