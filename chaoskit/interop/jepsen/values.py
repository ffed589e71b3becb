"""Parses the micro-operations of many operations at once: from canonical text to arrays.

The bracket depth determines the meaning of a number: in `[[:send K V]]`, `[[:send K [O V]]]` and
`[[:poll {K [[O V] ...]}]]` each has a distinct depth. Cost: about 15 passes over the bytes of the text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.signedinteger[Any]]

NONE = -1
_NIL = b"999999999999999999"
_DIGITS = np.zeros(256, np.bool_)
_DIGITS[ord("0") : ord("9") + 1] = True
_DEPTH = np.zeros(256, np.int8)
_DEPTH[[ord("["), ord("{")]] = 1
_DEPTH[[ord("]"), ord("}")]] = -1


@dataclass(frozen=True, slots=True)
class MicroOps:
    """Messages of operations, in order.

    Attributes:
        entry: index of the text.
        sent: whether the message was sent (otherwise polled).
        nth: for a sent message, the number of earlier sends in its operation.
        key, value: numbers.
        position: NONE if unknown.
    """

    entry: Ints
    sent: NDArray[np.bool_]
    nth: Ints
    key: Ints
    position: Ints
    value: Ints

    def of(self, chosen: NDArray[np.bool_]) -> MicroOps:
        """Return a subset."""
        columns = [getattr(self, name)[chosen] for name in self.__slots__]
        return MicroOps(*columns)


def micro_ops(texts: list[bytes]) -> MicroOps:
    """Return the micro-operations of values, each a vector of them or nil."""
    text = b"\n".join([b"" if each == b"nil" else each for each in texts]).replace(b"nil", _NIL)
    data = np.frombuffer(text, np.uint8)
    digits = _DIGITS[data]
    starts = np.flatnonzero(digits[1:] & ~digits[:-1]) + 1
    if not starts.size:
        none = np.empty(0, np.int64)
        return MicroOps(none, none.astype(np.bool_), none, none, none, none)
    numbers = _numbers(data, digits)
    # Brackets balance within a text, so depth counts from each text's beginning.
    depth = np.cumsum(_DEPTH[data], dtype=np.int32)[starts]
    polling = _polling(data, starts)
    entry = np.cumsum(data == ord("\n"), dtype=np.int32)[starts]
    key, bare = (depth == 2) | ((depth == 3) & polling), depth == 2
    # Depth 2 has the key of a send and, without a position, its value: the second of its two numbers.
    second = np.zeros(starts.size, np.bool_)
    which = np.searchsorted(_colons(data), starts)
    second[1:] = bare[1:] & bare[:-1] & (which[1:] == which[:-1])
    key &= ~second
    paired = ~key & ~second
    pair_first = np.flatnonzero(paired)[::2]
    message = np.sort(np.concatenate((np.flatnonzero(second), pair_first)))
    is_pair = paired[message]
    value = np.where(is_pair, numbers[np.minimum(message + 1, numbers.size - 1)], numbers[message])
    position = np.where(is_pair, numbers[message], NONE)
    position[position == int(_NIL)] = NONE
    last_key = np.maximum.accumulate(np.where(key, np.arange(starts.size), 0))[message]
    sent = ~polling[message]
    return MicroOps(entry[message], sent, _nth(entry[message], sent), numbers[last_key], position, value)


def _numbers(data: NDArray[np.uint8], digits: NDArray[np.bool_]) -> Ints:
    spaced = np.where(digits, data, np.uint8(ord(" "))).tobytes()
    numbers: Ints = np.fromstring(spaced, np.int64, sep=" ")
    return numbers


def _colons(data: NDArray[np.uint8]) -> Ints:
    return np.flatnonzero(data == ord(":"))


def _polling(data: NDArray[np.uint8], starts: Ints) -> NDArray[np.bool_]:
    """Return for each number whether its micro-operation is a poll."""
    colons = _colons(data)
    kinds = data[colons + 1] == ord("p")
    polling: NDArray[np.bool_] = kinds[np.searchsorted(colons, starts) - 1]
    return polling


def _nth(entry: Ints, sent: NDArray[np.bool_]) -> Ints:
    """Return for each message the number of earlier sends in its operation."""
    before: Ints = np.cumsum(sent) - sent
    first = np.ones(entry.size, np.bool_)
    first[1:] = entry[1:] != entry[:-1]
    starts = np.flatnonzero(first)
    return before - np.repeat(before[starts], np.diff(np.append(starts, entry.size)))
