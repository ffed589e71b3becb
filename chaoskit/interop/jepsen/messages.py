"""The messages of one key of a Jepsen history, as rows of the chaoskit schema."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa

from chaoskit.interop.jepsen.scan import NONE, POLLED, SENT
from chaoskit.interop.jepsen.spool import ACKED
from chaoskit.model.message import DIRECTIONS, PAYLOADS, PRODUCER_SHIFT
from chaoskit.model.tables import MESSAGES

_NTH_BITS = 20
UNSENT_PRODUCER = 1 << 22
"""First producer number for values without a send (phantoms); each key uses a separate producer."""


def place_of(text: str) -> tuple[str, int]:
    """Return the topic and partition for a key in EDN.

    >>> place_of("5"), place_of('"orders/3"'), place_of(":x")
    (('k5', 0), ('orders', 3), ('x', 0))
    """
    if re.fullmatch(r"\d+", text):
        return f"k{text}", 0
    plain = text.strip('"').removeprefix(":")
    topic, slash, partition = plain.rpartition("/")
    if slash and topic and re.fullmatch(r"\d{1,9}", partition):
        return topic, int(partition)
    return plain, 0


class KeyRows:
    """The rows of one key.

    Args:
        rows: rows of dtype `spool.ROW`.
        process: process of each operation.
        end_ns: completion time of each operation.
        sequence: for each operation, the number of messages that its process sent before.
    """

    def __init__(self, rows: np.ndarray, process: np.ndarray, end_ns: np.ndarray, sequence: np.ndarray) -> None:
        self._end_ns = end_ns
        self._sent, self._acked, self._polled = (rows[rows["kind"] == kind] for kind in (SENT, ACKED, POLLED))
        op = self._sent["op"]
        fresh = (process[op].astype(np.int64) << PRODUCER_SHIFT) | (sequence[op] + self._sent["nth"])
        # A value that is sent again is the same message, identified by its first send.
        self._known, first, index = np.unique(self._sent["value"], return_index=True, return_inverse=True)
        self._value_of_known = fresh[first]
        self._value = self._value_of_known[index]

    def table(self, place: tuple[str, int]) -> tuple[pa.Table, tuple[np.ndarray, np.ndarray]]:
        """Return the rows in order of operation, and chaoskit's values with Jepsen's numbers for them."""
        polled, unsent = self._translated(place)
        op = np.concatenate((self._sent["op"], self._polled["op"]))
        value = np.concatenate((self._value, polled))
        position = np.concatenate((self._positions(), self._polled["position"]))
        received = np.arange(op.size) >= self._sent.size
        order = np.argsort(op, kind="stable")
        op, received = op[order], received[order]
        received_ns = self._end_ns[op]
        position = position[order]
        size = op.size
        columns = [
            pa.array(op),
            _words(received, DIRECTIONS),
            _words(np.zeros(size), [place[0]]),
            pa.array(np.full(size, place[1], np.int32)),
            pa.nulls(size, MESSAGES.field("key").type),
            pa.array(value[order]),
            pa.array(position, mask=position == NONE),
            *[pa.nulls(size, pa.int64())] * 2,
            pa.array(received_ns, mask=~received | (received_ns == NONE)),
            pa.nulls(size, pa.int32()),
            _words(np.zeros(size), PAYLOADS),
        ]
        values = np.concatenate((self._value_of_known, unsent[0]))
        return pa.table(columns, schema=MESSAGES), (values, np.concatenate((self._known, unsent[1])))

    def _positions(self) -> np.ndarray:
        """Return the position of each send, as reported by its completion."""
        named = _identity(self._acked)
        order = np.argsort(named)
        named = np.append(named[order], -1)
        at = np.searchsorted(named[:-1], _identity(self._sent))
        position = np.append(self._acked["position"][order], NONE)
        positions: np.ndarray = np.where(named[at] == _identity(self._sent), position[at], NONE)
        return positions

    def _translated(self, place: tuple[str, int]) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """Return chaoskit's values of polled messages, and those among them without a send."""
        wanted = self._polled["value"]
        at = np.searchsorted(self._known, wanted)
        at = np.minimum(at, max(0, self._known.size - 1))
        sent = self._known[at] == wanted if self._known.size else np.zeros(wanted.size, np.bool_)
        unsent = np.unique(wanted[~sent])
        strange = (UNSENT_PRODUCER << PRODUCER_SHIFT) | (_digest(place) << 20) | np.arange(unsent.size)
        value = np.empty(wanted.size, np.int64)
        if self._known.size:
            value[sent] = self._value_of_known[at[sent]]
        value[~sent] = strange[np.searchsorted(unsent, wanted[~sent])]
        return value, (strange, unsent)


def _digest(place: tuple[str, int]) -> int:
    """Return a 20-bit hash of a place, so that phantoms of different keys are unlikely to collide."""
    return hash_text(f"{place[0]}/{place[1]}") & 0xFFFFF


def hash_text(text: str) -> int:
    """Return a hash that is stable across processes."""
    number = 0xCBF29CE484222325
    for byte in text.encode():
        number = ((number ^ byte) * 0x100000001B3) & (2**64 - 1)
    return number


def _identity(rows: np.ndarray) -> np.ndarray:
    identity: np.ndarray = (rows["op"] << _NTH_BITS) | rows["nth"]
    return identity


def _words(indices: np.ndarray, known: tuple[str, ...] | list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(indices.astype(np.int32)), pa.array(known, pa.string()))
