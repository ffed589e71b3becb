"""Where each acknowledged message of a recorded run was, and when: its history beside the recordings of the disks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base import store
from chaoskit.base.errors import BadInput
from chaoskit.contract.recorded_disk import NEVER, RecordedDisks, Stored
from chaoskit.contract.traits import Paced
from chaoskit.contract.vocabulary import AUDITOR
from chaoskit.history.compacting.placements import Placements
from chaoskit.history.digesting.live import require_history
from chaoskit.history.format.audits import Place
from chaoskit.history.format.origin import read_origin, read_run_id
from chaoskit.history.reading.reader import History
from chaoskit.judge.loss_window import ELSEWHERE, UNKNOWN, Copies, Ints
from chaoskit.judge.subject import Subject
from chaoskit.scenario.plan import Plan

_REMEDY = "run with cluster.disk: {kind: programmable, record: true}"


def is_recorded(folder: Path) -> bool:
    """Return whether a run folder has recordings of disks."""
    return (folder / store.RECORDINGS).is_dir()


def read_copies(folder: Path, subject: Subject) -> tuple[Copies, dict[str, Stored]]:
    """Return where the acknowledged messages of a run were, in the order of their acknowledgements, and what is on each
    host's disk. Hosts that never wrote a message, though others did, are left out; so are topics that keep nothing.

    Raises:
        BadInput: the disk of a host was not recorded, or the run has no history.
    """
    require_history(folder)
    plan = subject.plan
    if plan is None or not is_recorded(folder):
        raise BadInput(f"{folder}: its disks were not recorded; {_REMEDY}")
    disks = _disks(folder, plan)
    values, acked_ns, gone_ns, leader = _acknowledged(History.open(folder), plan)
    origin_ns = read_origin(folder / "wal")
    stable, written = np.full((2, len(disks), len(values)), NEVER)
    for number, disk in enumerate(disks.values()):
        at = np.minimum(np.searchsorted(disk.values, values), max(len(disk.values) - 1, 0))
        there = disk.values[at] == values if len(disk.values) else np.zeros(len(values), bool)
        written[number, there] = disk.written_ns[at[there]] - origin_ns
        in_time = there.copy()
        in_time[there] = disk.stable_ns[at[there]] <= disk.ended_ns
        stable[number, in_time] = disk.stable_ns[at[in_time]] - origin_ns
    storing = [number for number, disk in enumerate(disks.values()) if len(disk.values)] or list(range(len(disks)))
    hosts, numbers = [list(disks)[number] for number in storing], np.full(len(disks) + 1, ELSEWHERE)
    numbers[storing], numbers[-1] = range(len(storing)), UNKNOWN
    return Copies(hosts, acked_ns, gone_ns, stable[storing], written[storing], numbers[leader]), disks


def _disks(folder: Path, plan: Plan) -> dict[str, Stored]:
    provider, paced = plan.provider, plan.declared.get(Paced)
    if not isinstance(provider, RecordedDisks) or paced is None:
        raise BadInput(f"{folder}: its disks were not recorded; {_REMEDY}")
    run_id = read_run_id(folder / "wal")
    if missing := [host for host in plan.host_names if not (folder / store.RECORDINGS / host).is_dir()]:
        raise BadInput(f"{folder}: the disk of {missing[0]} was not recorded; {_REMEDY}")
    return {host: provider.stored(folder / store.RECORDINGS / host, run_id, paced.size) for host in plan.host_names}


def _acknowledged(history: History, plan: Plan) -> tuple[Ints, Ints, Ints, Ints]:
    """Return value, time of acknowledgement, time when it need no longer be there, and leader of each message."""
    operations = history.operations
    told = pc.equal(operations["outcome"].cast(pa.string()), "ok")
    acknowledged = pc.and_(told, pc.not_equal(operations["client"].cast(pa.string()), AUDITOR)).to_numpy()
    ended_ns = pc.fill_null(operations["end_ns"], NEVER).to_numpy()
    kept = {topic.name for topic in plan.declared.topics if topic.model.keeps}
    taken = {topic.name for topic in plan.declared.topics if topic.model.gives_back}
    columns: list[tuple[Ints, Ints, Ints, Ints]] = []
    for each in history.partitions:
        place = each.topic, each.partition
        if each.topic not in kept:
            continue
        messages = history.messages(*place)
        direction = messages["direction"].cast(pa.string())
        sent = messages.filter(pc.equal(direction, "sent"))
        op = sent["op"].to_numpy()
        values, acked_ns = sent["value"].to_numpy()[acknowledged[op]], ended_ns[op[acknowledged[op]]]
        received = messages.filter(pc.equal(direction, "received")) if each.topic in taken else messages.slice(0, 0)
        gone_ns = _first_received_ns(values, received)
        columns.append((values, acked_ns, gone_ns, _leaders(history.placements, place, acked_ns, plan.host_names)))
    empty = np.empty(0, np.int64)
    values, acked_ns, gone_ns, leader = map(np.concatenate, zip(*columns, (empty,) * 4, strict=True))
    order = np.argsort(acked_ns, kind="stable")
    return values[order], acked_ns[order], gone_ns[order], leader[order]


def _first_received_ns(values: Ints, received: pa.Table) -> Ints:
    """Return when each value was first received; NEVER if it was not."""
    found_ns = np.full(len(values), NEVER)
    times_ns = received["received_ns"].to_numpy()
    known, first = np.unique(received["value"].to_numpy()[np.argsort(times_ns, kind="stable")], return_index=True)
    if len(known):
        at = np.minimum(np.searchsorted(known, values), len(known) - 1)
        there = known[at] == values
        found_ns[there] = np.sort(times_ns)[first[at[there]]]
    return found_ns


def _leaders(placements: Placements, place: Place, times_ns: Ints, hosts: Sequence[str]) -> Ints:
    """Return the number of the host that led a partition at each time, before the first known one too; UNKNOWN if
    there is none."""
    numbers: Mapping[str, int] = {host: number for number, host in enumerate(hosts)}
    standings = placements.standings(place)
    led = np.array([numbers.get(each.leader, UNKNOWN) for each in standings] or [UNKNOWN], np.int64)
    return led[np.maximum(np.searchsorted([each.at_ns for each in standings], times_ns, side="right") - 1, 0)]
