"""Waits of partitions from the digests of clients: as those of a history, to 100 ms (`chaoskit.base.waits`).

Each client tells the times without an acknowledgement of its own; an acknowledgement of another one ends a wait, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from chaoskit.base.waits import Wait, Waits
from chaoskit.history.digesting.digest import GAP_MIN_NS, Digest
from chaoskit.judge.timing.counting import WAITS, waits_of, waits_rows
from chaoskit.judge.timing.timing import Timing
from chaoskit.model.place import Place

_NEVER, _FOREVER = np.iinfo(np.int64).min, np.iinfo(np.int64).max


Told = tuple[str, int, Wait]


class Silence(NamedTuple):
    """A time without an acknowledgement, ns.

    Attributes:
        begin_ns, end_ns: the acknowledgements before and after it.
        open_ns: since when a send was due or open in it.
    """

    begin_ns: int
    end_ns: int
    open_ns: int


def waits(digests: Sequence[Digest], origin_ns: int, timing: Timing) -> pa.Table:
    """Return WAITS of all partitions to which anything was sent.

    Args:
        digests: those of the clients of the load.
        origin_ns: start of the run, CLOCK_MONOTONIC.
        timing: the times of the run.
    """
    clients: dict[Place, list[tuple[Digest, list[int]]]] = {}
    for digest in digests:
        for name, partition, *dues in digest.dues.tolist():
            clients.setdefault((str(digest.names[name - 1]), partition), []).append((digest, [name, partition, *dues]))
    rows: list[dict[str, Any]] = []
    for place, senders in clients.items():
        silences = _of_client(*senders[0])
        for other in senders[1:]:
            silences = list(_both(silences, _of_client(*other)))
        acks = [row[2:].tolist() for digest, due in senders for row in digest.acks if row[:2].tolist() == due[:2]]
        rows += _rows(place, silences, acks, [due[2:] for _, due in senders], origin_ns, timing)
    return pa.Table.from_pylist(rows, WAITS)


def _of_client(digest: Digest, due: list[int]) -> list[Silence]:
    """Return a client's silences in a partition, from before its first acknowledgement to after its last one."""
    name, partition, first_due_ns, _, given_up_ns = due
    own = [row[2:].tolist() for row in digest.acks if row[:2].tolist() == [name, partition]]
    if not own:
        return [Silence(_NEVER, _FOREVER, first_due_ns)]
    ((first_ns, last_ns),) = own
    gaps = digest.gaps[(digest.gaps[:, 0] == name) & (digest.gaps[:, 1] == partition)][:, 2:].tolist()
    pending = digest.open[(digest.open["name"] == name) & (digest.open["partition"] == partition)]
    left = given_up_ns > last_ns or pending.size
    return [
        Silence(_NEVER, first_ns, first_due_ns),
        *(Silence(*gap) for gap in sorted(gaps)),
        Silence(last_ns, _FOREVER, last_ns if left else _FOREVER),
    ]


def _both(one: list[Silence], other: list[Silence]) -> Iterator[Silence]:
    """Yield the times without an acknowledgement of either of two clients."""
    first = second = 0
    while first < len(one) and second < len(other):
        a, b = one[first], other[second]
        begin_ns, end_ns = max(a.begin_ns, b.begin_ns), min(a.end_ns, b.end_ns)
        if end_ns - max(begin_ns, -GAP_MIN_NS) >= GAP_MIN_NS:
            yield Silence(begin_ns, end_ns, min(a.open_ns, b.open_ns))
        first, second = (first + 1, second) if a.end_ns <= b.end_ns else (first, second + 1)


def _rows(  # noqa: PLR0917 - what is known of one partition
    place: Place,
    silences: list[Silence],
    acks: list[list[int]],
    dues: list[list[int]],
    origin_ns: int,
    timing: Timing,
) -> list[dict[str, Any]]:
    load = timing.load
    given_up_ns = max(until for _, _, until in dues) - origin_ns
    first_due_ns, last_due_ns = min(due[0] for due in dues) - origin_ns, max(due[1] for due in dues) - origin_ns
    begins, ends, answered = [], [], True
    for begin_ns, end_ns, open_ns in silences:
        since_ns = max(begin_ns, open_ns) - origin_ns if open_ns != _FOREVER else _FOREVER
        until_ns = end_ns - origin_ns
        if end_ns == _FOREVER:
            if load.stuck_ns is not None:
                since_ns = min(since_ns, max(load.stuck_ns, begin_ns - origin_ns if begin_ns != _NEVER else _NEVER))
            until_ns, answered = max(since_ns, min(max(given_up_ns, load.end_ns), load.end_ns)), since_ns == _FOREVER
        if since_ns != _FOREVER and until_ns > since_ns:
            begins.append(since_ns)
            ends.append(until_ns)
    partition_waits = Waits(np.array(begins, np.int64), np.array(ends, np.int64), answered)
    labelled_waits = list(waits_of(partition_waits, timing))
    answers = None
    if acks:
        answers = min(ack[0] for ack in acks) - origin_ns, max(ack[1] for ack in acks) - origin_ns
        labelled_waits += _quick(labelled_waits, answers, timing)
    rows = waits_rows(partition_waits, labelled_waits, (first_due_ns, last_due_ns), answers)
    return [{"topic": place[0], "partition": place[1], **row} for row in rows]


def _quick(labelled_waits: Sequence[Told], acks: tuple[int, int], timing: Timing) -> Iterator[Told]:
    """Yield what was shorter than what is known: the longest wait of the load and of each fault, and recoveries."""
    known, (first_ns, last_ns), load = {(of, number) for of, number, _ in labelled_waits}, acks, timing.load
    short = [("load", 0, first_ns)]
    for number, fault in enumerate(timing.faults):
        short += [
            (of, number, at) for of, at in (("healed", fault.healed_ns), ("undone", fault.heal_ns)) if at is not None
        ]
        short.append(("fault", number, fault.start_ns))
    for of, number, at_ns in short:
        if at_ns < min(load.end_ns, last_ns) and (of, number) not in known:
            yield of, number, Wait(at_ns, min(at_ns + GAP_MIN_NS, last_ns), answered=True)
