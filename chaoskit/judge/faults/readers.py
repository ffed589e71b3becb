"""Which member of a group read a partition, and when clients were not subscribed, as the system told the clients."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from chaoskit.history.reading.reader import History, StoredPartition, each_observations
from chaoskit.judge.faults.consequence import Change, Changed
from chaoskit.judge.timing.counting import is_word
from chaoskit.model.observations import feed, queue
from chaoskit.model.observations.group import ASSIGNED
from chaoskit.model.place import Place

_OWNED, _ENDED = ASSIGNED, (queue.CANCELLED, feed.UNSUBSCRIBED)
_KINDS = (_OWNED, feed.SUBSCRIBED, *_ENDED)
"""Kinds of observations that tell who reads a partition."""


class Owner(NamedTuple):
    """A member of a group that a partition was assigned to.

    Attributes:
        at_ns: when it was told so.
        member: the client.
    """

    at_ns: int
    member: str


class Break(NamedTuple):
    """A time without a subscription of a client.

    Attributes:
        at_ns: when the client knew that its subscription had ended.
        until_ns: when it subscribed again; None: it did not.
        client: the client.
    """

    at_ns: int
    until_ns: int | None
    client: str


class _Act(NamedTuple):
    """What an operation observed, with the name of the group, if it is that of one."""

    op: int
    kind: str
    name: str


class _Done(NamedTuple):
    """When an operation was done, and by whom."""

    at_ns: int
    client: str


@dataclass(frozen=True, slots=True)
class Readers:
    """Who read a partition until the end of the load, when everybody leaves.

    Attributes:
        place: the partition.
        owners: by group, one after the other; each another one than before.
        breaks: when clients were not subscribed.
    """

    place: Place
    owners: Mapping[str, Sequence[Owner]]
    breaks: Sequence[Break]

    def changes(self) -> Iterator[Changed]:
        """Yield what changed."""
        for group, owners in self.owners.items():
            for before, now in pairwise(owners):
                yield Changed(Change.NEW_OWNER, self.place, now.at_ns, now.member, before.member, group=group)
        for gap in self.breaks:
            yield Changed(Change.UNSUBSCRIBED, self.place, gap.at_ns, gap.client, until_ns=gap.until_ns)


def readers_of(history: History, end_ns: int) -> list[Readers]:
    """Return who read each partition.

    Args:
        history: the history of a run; only `slice` is called on its operations.
        end_ns: the end of the load, ns since the start of the run.
    """
    acts_by_place = {(partition.topic, partition.partition): list(_acts(partition)) for partition in history.partitions}
    ops = sorted({act.op for acts in acts_by_place.values() for act in acts})
    if not ops:
        return []
    rows = history.operations
    known = {op: _done(rows.slice(op, 1).to_pylist()[0]) for op in ops}
    return [_readers(place, acts, known, end_ns) for place, acts in acts_by_place.items() if acts]


def _acts(partition: StoredPartition) -> Iterator[_Act]:
    for rows in each_observations(partition, ["op", "kind", "name"]):
        chosen = rows.filter(pa.array(np.logical_or.reduce([is_word(rows["kind"], kind) for kind in _KINDS])))
        for row in chosen.to_pylist():
            yield _Act(row["op"], row["kind"], row["name"] or "")


def _done(operation: Mapping[str, Any]) -> _Done:
    """Return when an operation ended (if it never did: when it began), and whose it was, whatever its incarnation."""
    at_ns = operation["start_ns"] if operation["end_ns"] is None else operation["end_ns"]
    return _Done(at_ns, operation["client"].partition("#")[0])


def _readers(place: Place, acts: Sequence[_Act], known: Mapping[int, _Done], end_ns: int) -> Readers:
    owners: dict[str, list[Owner]] = defaultdict(list)
    breaks: list[Break] = []
    away: dict[str, int] = {}
    in_time = [(*known[act.op], act) for act in acts if known[act.op].at_ns <= end_ns]
    for at_ns, client, act in sorted(in_time):
        if act.kind == _OWNED:
            if [owner.member for owner in owners[act.name][-1:]] != [client]:
                owners[act.name].append(Owner(at_ns, client))
        elif act.kind in _ENDED:
            away.setdefault(client, at_ns)
        elif client in away:
            breaks.append(Break(away.pop(client), at_ns, client))
    breaks += [Break(at_ns, None, client) for client, at_ns in away.items()]
    return Readers(place, owners, sorted(breaks, key=lambda gap: gap.at_ns))
