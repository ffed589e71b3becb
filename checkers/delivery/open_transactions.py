"""When transactions were open in a partition, by looks at it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from chaoskit.contract.checkers.checker import Part
from chaoskit.model.observations.transactions import OpenTransactions
from checkers.arrays.view import LogView

_LOOKS_NS = 2_000_000_000
"""From one look to the next takes a second, or longer if somebody does not answer."""


class OpenStay(NamedTuple):
    """A time in which a transaction was open.

    Attributes:
        name: the name of its producer.
        position: where its first message is.
        since_ns: when it was first seen.
        until_ns: when it was last seen.
        op: the operation that saw it last.
    """

    name: str
    position: int
    since_ns: int
    until_ns: int
    op: int


def stays(part: Part) -> list[OpenStay]:
    """Return when each transaction was open that was seen at more than one look, in order of its first message."""
    seen = OpenTransactions.read(part.observations)
    if not seen.op.size:
        return []
    rows = part.view(LogView).operations
    at_ns = rows.start_ns[rows.rows_of(seen.op)]
    last: dict[tuple[int, int], OpenStay] = {}
    columns = seen.name, seen.position.tolist(), seen.since_ns.tolist(), at_ns.tolist(), seen.op.tolist()
    for stay in sorted(map(OpenStay, *columns), key=lambda stay: (stay.until_ns, stay.op)):
        last[stay.position, stay.since_ns] = stay  # by its last name: before, its coordinator may not have answered
    return [last[key] for key in sorted(last)]


def holding(known: Sequence[OpenStay], before: int, position: int, at_ns: int) -> Iterator[OpenStay]:
    """Yield the transactions that were open at a time, and begin behind one position and not behind another: who reads
    committed messages, and had read up to the former, could not pass them."""
    for stay in known:
        if before < stay.position <= position and stay.since_ns <= at_ns <= stay.until_ns + _LOOKS_NS:
            yield stay
