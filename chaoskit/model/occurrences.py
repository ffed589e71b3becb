"""Finds the payloads of a run in other bytes, such as those of a disk: in C where it was compiled (`occurrences.c`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chaoskit.model import payload

if TYPE_CHECKING:
    from mmap import mmap


def search_slowly(within: mmap | bytes | bytearray, start: int, end: int, run_id: int, size: int, /) -> bytes:
    """Do the same as `search`, without a compiler."""
    if size < payload.SIZE_MIN:
        raise ValueError("a payload cannot be that small")
    prefix = payload.prefix(run_id)
    values = bytearray()
    at, last = max(0, start - size + 1), min(end - 1, len(within) - size)
    while at <= last and (offset := within.find(prefix, at, last + len(prefix))) >= 0:
        code, value, _, _ = payload.read(bytes(within[offset : offset + size]), run_id)
        if code == payload.OK:
            values += value.to_bytes(8, "little", signed=True)
        at = offset + (size if code == payload.OK else 1)
    return bytes(values)


if TYPE_CHECKING:

    def search(within: mmap | bytes | bytearray, start: int, end: int, run_id: int, size: int, /) -> bytes:
        """Return the values of all whole payloads that overlap a range, in the order of their places.

        Args:
            within: what to search; a payload may begin before the range, and end behind it.
            start, end: the range, in bytes.
            run_id: the run whose payloads are meant.
            size: size of each payload, in bytes.

        Returns:
            A signed number of 8 bytes for each, in the machine's order.

        Raises:
            ValueError: no payload is as small as that.
        """
else:
    try:
        from chaoskit.model._occurrences import search
    except ImportError:
        search = search_slowly
