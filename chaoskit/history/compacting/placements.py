"""Where partitions were stored during a run: recorded whenever it changed, compacted to placements.parquet.

Times are CLOCK_MONOTONIC ns since the start of the run, as everywhere in the history.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from chaoskit.base import durable, parquet
from chaoskit.base.reading import reading
from chaoskit.history.compacting.faults import REPAIR
from chaoskit.history.format.segment import room_in
from chaoskit.history.format.sound import sound
from chaoskit.model.place import Place
from chaoskit.model.placement import IN_SYNC, LEADER, REPLICA
from chaoskit.model.tables import PLACEMENTS

FILE = "placements.parquet"
_LOG = "placements.jsonl"


class Standing(NamedTuple):
    """Where a partition was stored from one time on.

    Attributes:
        at_ns: when that was first seen.
        leader: the host that led or owned it; empty if none did.
        holders: the hosts that stored it.
        in_sync: those that took part in new writes; None if it is not known.
        epoch: the epoch of the leader; None if there is none.
    """

    at_ns: int
    leader: str
    holders: frozenset[str]
    in_sync: frozenset[str] | None = None
    epoch: int | None = None


class PlacementLog:
    """Writes placements to `placements.jsonl`, each only when it differs from the last one of its partition.

    Args:
        folder: the run's `wal` folder, which must exist.

    Attributes:
        standings: where each partition was stored so far, whenever that changed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file = (folder / _LOG).open("ab")
        self.standings: dict[Place, list[Standing]] = {}
        durable.sync(folder)

    def record(self, place: Place, standing: Standing) -> None:
        """Record where a partition is stored, unless that is as it was.

        Raises:
            HistoryFull: there is no space for it.
        """
        so_far = self.standings.get(place)
        if so_far and so_far[-1]._replace(at_ns=standing.at_ns) == standing:
            return
        row = {"at_ns": standing.at_ns, "topic": place[0], "partition": place[1], "epoch": standing.epoch}
        roles = [(standing.leader, LEADER)] * bool(standing.leader)
        roles += [(host, REPLICA) for host in sorted(standing.holders)]
        roles += [(host, IN_SYNC) for host in sorted(standing.in_sync or ())]
        lines = [json.dumps({**row, "host": host, "role": role}).encode() + b"\n" for host, role in roles]
        with room_in(self._folder):
            self._file.write(b"".join(lines))
            self._file.flush()
        self.standings.setdefault(place, []).append(standing)

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


def recorded_placements(run_folder: Path) -> str:
    """Return what is in doubt because placements were not recorded, or their file is missing; empty if they were.

    Runs record them since there is `placements.jsonl`, also where a system tells none: it is empty then.
    """
    wal = run_folder / "wal"
    for path in (run_folder / FILE, wal / _LOG):
        if not path.exists() and (path.parent == run_folder or any(wal.glob("*.wal"))):
            return f"{path.name} is missing: leaders and replicas under the faults are unknown"
    return ""


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
        at: dict[Place, dict[int, list[Mapping[str, Any]]]] = defaultdict(lambda: defaultdict(list))
        for row in rows.to_pylist():
            at[row["topic"], row["partition"]][row["at_ns"]].append(row)
        self._standings = {place: _standings(rows_by_time) for place, rows_by_time in at.items()}

    @property
    def places(self) -> tuple[Place, ...]:
        """The partitions of which it is known where they were stored."""
        return tuple(self._standings)

    def standings(self, place: Place) -> list[Standing]:
        """Return where a partition was stored, whenever that changed, in order of time."""
        return self._standings.get(place, [])

    def with_fixed(self, places: Mapping[Place, Collection[str]]) -> Placements:
        """Return these, and others that never changed."""
        rows = [
            {"at_ns": 0, "topic": topic, "partition": number, "host": host, "role": REPLICA, "epoch": None}
            for (topic, number), hosts in places.items()
            for host in hosts
        ]
        return Placements(pa.concat_tables([self._rows, pa.Table.from_pylist(rows, PLACEMENTS)]))

    def unchanged(self) -> Placements:
        """Return these as if each partition had stayed as it first was with a leader: led by that one, and in sync on
        all hosts that ever stored it."""
        rows = []
        for place, known in self._standings.items():
            led = self._led(place) or known[:1]
            hosts = sorted(frozenset().union(*(standing.holders for standing in known)) | {led[0].leader} - {""})
            roles = [(led[0].leader, LEADER)] * bool(led[0].leader) + [(host, REPLICA) for host in hosts]
            if led[0].in_sync is not None:
                roles += [(host, IN_SYNC) for host in hosts]
            fixed = {"at_ns": known[0].at_ns, "topic": place[0], "partition": place[1], "epoch": led[0].epoch}
            rows += [{**fixed, "host": host, "role": role} for host, role in roles]
        return Placements(pa.Table.from_pylist(rows, PLACEMENTS))

    def knows_leader(self, place: Place) -> bool:
        """Return whether it was recorded who led a partition."""
        return bool(self._led(place))

    def new_leaders(self, place: Place) -> list[NewLeader]:
        """Return when another host than before led a partition, in order of time."""
        led = pairwise(self._led(place))
        return [NewLeader(now.at_ns, before.leader) for before, now in led if now.leader != before.leader]

    def _led(self, place: Place) -> list[Standing]:
        return [standing for standing in self.standings(place) if standing.leader]

    def holders(self, place: Place, start_ns: int, end_ns: int | None) -> frozenset[str] | None:
        """Return the hosts that stored or led a partition at any time of an interval; None if it is not known.

        Args:
            place: the partition.
            start_ns: start of the interval.
            end_ns: its end; None: the end of the run.
        """
        known = self.standings(place)
        if not known:
            return None
        before = [standing for standing in known if standing.at_ns <= start_ns][-1:]
        during = [
            standing for standing in known if standing.at_ns > start_ns and (end_ns is None or standing.at_ns <= end_ns)
        ]
        chosen = before + during or known[:1]
        return frozenset().union(*(standing.holders | {standing.leader} - {""} for standing in chosen))


def _standings(rows_by_time: Mapping[int, Sequence[Mapping[str, Any]]]) -> list[Standing]:
    """Return where a partition was stored, given its rows by time."""
    tells_in_sync = any(row["role"] == IN_SYNC for rows in rows_by_time.values() for row in rows)
    return [_standing(at_ns, rows, tells_in_sync) for at_ns, rows in rows_by_time.items()]


def _standing(at_ns: int, rows: Sequence[Mapping[str, Any]], tells_in_sync: bool) -> Standing:
    hosts: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        hosts[row["role"]].append(row["host"])
    in_sync = frozenset(hosts[IN_SYNC]) if tells_in_sync else None
    return Standing(at_ns, "".join(hosts[LEADER][:1]), frozenset(hosts[REPLICA]), in_sync, rows[0]["epoch"])
