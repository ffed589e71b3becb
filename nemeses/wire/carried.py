"""Which messages of the run a request or response carries: they are found by what each payload begins with.

A stand-alone module: a tap loads it on a host. The layout is that of `chaoskit.model.payload`. What is
compressed or encrypted is not found.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Hashable, Sequence

_PAYLOAD = re.compile(rb"CHK1.{8}(.{8})", re.DOTALL)
_VALUE = struct.Struct("<q")

Carried = Sequence[int]
"""How many messages, and the first and the last value of them; empty: none was found."""

_REMEMBERED = 10_000


def carried(content: bytes) -> Carried:
    """Return which messages are in the bytes of a request or response."""
    values = _PAYLOAD.findall(content)
    return (len(values), _value(values[0]), _value(values[-1])) if values else ()


def _value(content: bytes) -> int:
    value: int = _VALUE.unpack(content)[0]
    return value


class Asked:
    """What the requests of one connection carried, until they are answered."""

    def __init__(self) -> None:
        self._of: dict[Hashable, Carried] = {}

    def put(self, pair: Hashable, content: bytes) -> None:
        """Remember what a request carries; see `chaoskit.contract.systems.wire.Pairing`."""
        if values := carried(content):
            self._of[pair] = values
            if len(self._of) > _REMEMBERED:  # of requests that have no answers
                del self._of[next(iter(self._of))]

    def take(self, pair: Hashable | None) -> Carried:
        """Return what the request of a response carried."""
        return () if pair is None else self._of.pop(pair, ())
