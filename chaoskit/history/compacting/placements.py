"""Where partitions were stored during a run: recorded whenever it changed, compacted to placements.parquet.

Times are CLOCK_MONOTONIC ns since the start of the run, as everywhere in the history.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from chaoskit.base import durable, parquet
from chaoskit.base.reading import reading
from chaoskit.history.compacting.faults import REPAIR
from chaoskit.history.format.audits import Place
from chaoskit.history.format.schema import LEADER, PLACEMENTS, REPLICA
from chaoskit.history.format.segment import room_in
from chaoskit.history.format.sound import sound

FILE = "placements.parquet"
_LOG = "placements.jsonl"


class PlacementLog:
    """Writes placements to `placements.jsonl`, each only when it differs from the last one of its partition.

    Args:
        folder: the run's `wal` folder, which must exist.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = (folder / _LOG).open("ab")
        self._last: dict[Place, tuple[str, tuple[str, ...]]] = {}
        durable.sync(folder)

    def record(self, at_ns: int, place: Place, leader: str, holders: tuple[str, ...]) -> None:
        """Record where a partition is stored.

        Raises:
            HistoryFull: there is no space for it.
        """
        if self._last.get(place) == (leader, holders):
            return
        row = {"at_ns": at_ns, "topic": place[0], "partition": place[1]}
        roles = [(leader, LEADER)] * bool(leader) + [(holder, REPLICA) for holder in holders]
        lines = [json.dumps({**row, "host": host, "role": role}).encode() + b"\n" for host, role in roles]
        with room_in(self._folder):
            self._file.write(b"".join(lines))
            self._file.flush()
        self._last[place] = leader, holders

    def close(self) -> None:
        """Close the log.

        Raises:
            HistoryFull: there was no space for its end.
        """
        with room_in(self._folder):
            self._file.close()


def compact_placements(run_folder: Path) -> None:
    """Write placements.parquet, durably; a torn last line is skipped."""
    path = run_folder / "wal" / _LOG
    with reading(path, REPAIR):
        lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
        table = sound(pa.Table.from_pylist([json.loads(line) for line in lines], schema=PLACEMENTS))
    with room_in(run_folder), durable.whole(run_folder / FILE) as unfinished:
        parquet.write(table, unfinished)


class NewLeader(NamedTuple):
    """A partition had another leader than before.

    Attributes:
        at_ns: when that was first seen.
        before: the host that had led it before.
    """

    at_ns: int
    before: str


class Placements:
    """Where each partition was stored, and when.

    Args:
        rows: schema PLACEMENTS, in order of time.
    """

    def __init__(self, rows: pa.Table) -> None:
        self._rows = rows
        self._known: dict[Place, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        self._leaders: dict[Place, list[tuple[int, str]]] = defaultdict(list)
        for row in rows.to_pylist():
            place = row["topic"], row["partition"]
            self._known[place][row["at_ns"]].add(row["host"])
            if row["role"] == LEADER:
                self._leaders[place].append((row["at_ns"], row["host"]))

    def with_fixed(self, places: Mapping[Place, Collection[str]]) -> Placements:
        """Return these, and others that never changed."""
        rows = [
            {"at_ns": 0, "topic": topic, "partition": number, "host": host, "role": REPLICA}
            for (topic, number), hosts in places.items()
            for host in hosts
        ]
        return Placements(pa.concat_tables([self._rows, pa.Table.from_pylist(rows, PLACEMENTS)]))

    def knows_leader(self, place: Place) -> bool:
        """Return whether it was recorded who led a partition."""
        return place in self._leaders

    def new_leaders(self, place: Place) -> list[NewLeader]:
        """Return when another host than before led a partition, in order of time."""
        led = self._leaders.get(place, [])
        return [NewLeader(at_ns, before) for (_, before), (at_ns, host) in pairwise(led) if host != before]

    def holders(self, place: Place, start_ns: int, end_ns: int | None) -> frozenset[str] | None:
        """Return the hosts that stored or led a partition at any time of an interval; None if it is not known.

        Args:
            place: the partition.
            start_ns: start of the interval.
            end_ns: its end; None: the end of the run.
        """
        known = self._known.get(place)
        if not known:
            return None
        before = [at_ns for at_ns in known if at_ns <= start_ns][-1:]
        during = [at_ns for at_ns in known if at_ns > start_ns and (end_ns is None or at_ns <= end_ns)]
        return frozenset().union(*(known[at_ns] for at_ns in before + during or list(known)[:1]))
