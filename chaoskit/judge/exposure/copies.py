"""Where each acknowledged message of a recorded run was, and when: its history beside the recordings of the disks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base import store
from chaoskit.base.errors import BadInput
from chaoskit.base.latency import Ints
from chaoskit.contract.hosts.recorded_disk import NEVER, RecordedDisks, Stored
from chaoskit.contract.workloads.topic import Topic
from chaoskit.contract.workloads.traits import Paced
from chaoskit.history.compacting.placements import Placements
from chaoskit.history.digesting.live import require_history
from chaoskit.history.format.origin import read_origin, read_run_id
from chaoskit.history.reading.reader import History, read_observations
from chaoskit.judge.exposure.loss_window import ELSEWHERE, UNKNOWN, StableCopies
from chaoskit.judge.subject.subject import Subject
from chaoskit.model.observations.queue import ACKED, REJECTED, Settlements
from chaoskit.model.operation import AUDITOR
from chaoskit.model.place import Place
from chaoskit.scenario.plan import Plan


class AcknowledgedMessages(NamedTuple):
    """Messages of one partition. Times are ns since the start of the run.

    Attributes:
        values: the messages.
        sent_ns: when the send of each began.
        acked_ns: when each was acknowledged.
        gone_ns: when a consumer began to acknowledge or reject it, so that its queue need not have it any more, or
            polled it from a queue that asks for neither; when the last subscriber received it, if nothing is kept; else
            NEVER.
    """

    values: Ints
    sent_ns: Ints
    acked_ns: Ints
    gone_ns: Ints


_SETTLED = (ACKED, REJECTED)
"""Kinds of observations after which a queue need not have a message."""

_REMEDY = "run with cluster.disk: {kind: programmable, record: true}"


def is_recorded(folder: Path) -> bool:
    """Return whether a run folder has recordings of disks."""
    return (folder / store.RECORDINGS).is_dir()


def read_copies(folder: Path, subject: Subject) -> tuple[StableCopies, dict[str, Stored]]:
    """Return where the acknowledged messages of a run were, in the order of their acknowledgements, and what is on each
    host's disk. Hosts that never wrote a message, though others did, are left out; so are topics that keep nothing.

    Raises:
        BadInput: the disk of a host was not recorded, or the run has no history.
    """
    plan, provider, recordings = recorded(folder, subject)
    paced = plan.declared.get(Paced)
    if paced is None:
        raise BadInput(f"{folder}: its messages have no declared size by which they could be found")
    run_id = read_run_id(folder / "wal")
    disks = {host: provider.stored(recording, run_id, paced.size) for host, recording in recordings.items()}
    values, acked_ns, gone_ns, leader = _in_order(History.open(folder), plan)
    origin_ns = read_origin(folder / "wal")
    stable, written = np.full((2, len(disks), len(values)), NEVER)
    for number, disk in enumerate(disks.values()):
        at = np.minimum(np.searchsorted(disk.values, values), max(len(disk.values) - 1, 0))
        present = disk.values[at] == values if len(disk.values) else np.zeros(len(values), bool)
        written[number, present] = disk.written_ns[at[present]] - origin_ns
        in_time = present.copy()
        in_time[present] = disk.stable_ns[at[present]] <= disk.ended_ns
        stable[number, in_time] = disk.stable_ns[at[in_time]] - origin_ns
    storing = [number for number, disk in enumerate(disks.values()) if len(disk.values)] or list(range(len(disks)))
    hosts, numbers = [list(disks)[number] for number in storing], np.full(len(disks) + 1, ELSEWHERE)
    numbers[storing], numbers[-1] = range(len(storing)), UNKNOWN
    return StableCopies(hosts, acked_ns, gone_ns, stable[storing], written[storing], numbers[leader], values), disks


def recorded(folder: Path, subject: Subject) -> tuple[Plan, RecordedDisks, dict[str, Path]]:
    """Return the plan of a recorded run, what reads its recordings, and that of each host's disk.

    Raises:
        BadInput: the disk of a host was not recorded, or the run has no history.
    """
    require_history(folder)
    plan = subject.plan
    if plan is None or not is_recorded(folder) or not isinstance(plan.provider, RecordedDisks):
        raise BadInput(f"{folder}: its disks were not recorded; {_REMEDY}")
    recordings = {host: folder / store.RECORDINGS / host for host in plan.host_names}
    if missing := [host for host, recording in recordings.items() if not recording.is_dir()]:
        raise BadInput(f"{folder}: the disk of {missing[0]} was not recorded; {_REMEDY}")
    return plan, plan.provider, recordings


def acknowledged(history: History, topics: Sequence[Topic]) -> dict[Place, AcknowledgedMessages]:
    """Return the messages of the load that were acknowledged, by partition.

    Args:
        history: the history of the run.
        topics: as the run declared them.
    """
    operations = history.operations
    succeeded = pc.equal(operations["outcome"].cast(pa.string()), "ok")
    of_load = pc.not_equal(operations["client"].cast(pa.string()), AUDITOR)
    done = pc.fill_null(pc.and_(succeeded, of_load), False).to_numpy()
    begun_ns, ended_ns = (pc.fill_null(operations[name], NEVER).to_numpy() for name in ("start_ns", "end_ns"))
    taken = {topic.name for topic in topics if topic.model.gives_back}
    passed = {topic.name for topic in topics if not topic.model.keeps}
    by_place = {}
    for partition in history.partitions:
        messages = history.messages(partition.topic, partition.partition)
        direction = messages["direction"].cast(pa.string())
        sent = messages.filter(pc.equal(direction, "sent"))
        op = sent["op"].to_numpy()
        values, op = sent["value"].to_numpy()[done[op]], op[done[op]]
        gone_ns = np.full(len(values), NEVER)
        if partition.topic in taken:
            gone_ns = _first_ns(values, *_settled(operations, messages, read_observations(partition)))
        elif partition.topic in passed:
            received = messages.filter(pc.equal(direction, "received"))
            gone_ns = _last_ns(values, received["value"].to_numpy(), received["received_ns"].to_numpy())
        by_place[partition.topic, partition.partition] = AcknowledgedMessages(
            values, begun_ns[op], ended_ns[op], gone_ns
        )
    return by_place


def _settled(operations: pa.Table, messages: pa.Table, observations: pa.Table) -> tuple[Ints, Ints]:
    """Return which messages of a queue were settled, and when that began: what surely had no effect does not count."""
    f, failed = operations["f"].cast(pa.string()), pc.equal(operations["outcome"].cast(pa.string()), "fail")
    start_ns = operations["start_ns"].to_numpy()
    settled = Settlements.read(observations, _SETTLED)
    kept = ~failed.to_numpy(zero_copy_only=False)[settled.op]
    polled = messages.filter(pc.equal(messages["direction"].cast(pa.string()), "received"))
    polled = polled.filter(pc.equal(f.take(polled["op"]), "poll"))
    at_ns = [start_ns[settled.op[kept]], polled["received_ns"].to_numpy()]
    return np.concatenate([settled.value[kept], polled["value"].to_numpy()]), np.concatenate(at_ns)


def _in_order(history: History, plan: Plan) -> tuple[Ints, Ints, Ints, Ints]:
    """Return value, time of acknowledgement, time when it need no longer be there, and leader of each message."""
    kept = {topic.name for topic in plan.declared.topics if topic.model.keeps}
    columns = [
        (
            messages.values,
            messages.acked_ns,
            messages.gone_ns,
            _leaders(history.placements, place, messages.acked_ns, plan.host_names),
        )
        for place, messages in acknowledged(history, plan.declared.topics).items()
        if place[0] in kept
    ]
    empty = np.empty(0, np.int64)
    values, acked_ns, gone_ns, leader = map(np.concatenate, zip(*columns, (empty,) * 4, strict=True))
    order = np.argsort(acked_ns, kind="stable")
    return values[order], acked_ns[order], gone_ns[order], leader[order]


def _first_ns(values: Ints, among: Ints, times_ns: Ints) -> Ints:
    """Return the first of these times of each value, given the value of each; NEVER if it has none."""
    earliest_ns = np.full(len(values), NEVER)
    known, first = np.unique(among[np.argsort(times_ns, kind="stable")], return_index=True)
    if len(known):
        at = np.minimum(np.searchsorted(known, values), len(known) - 1)
        present = known[at] == values
        earliest_ns[present] = np.sort(times_ns)[first[at[present]]]
    return earliest_ns


def _last_ns(values: Ints, among: Ints, times_ns: Ints) -> Ints:
    """Return the last of these times of each value, given the value of each; NEVER if it has none."""
    first_ns = _first_ns(values, among, -times_ns)
    return np.where(first_ns == NEVER, NEVER, -first_ns)


def _leaders(placements: Placements, place: Place, times_ns: Ints, hosts: Sequence[str]) -> Ints:
    """Return the number of the host that led a partition at each time, before the first known one too; UNKNOWN if
    there is none."""
    numbers: Mapping[str, int] = {host: number for number, host in enumerate(hosts)}
    standings = placements.standings(place)
    led = np.array([numbers.get(standing.leader, UNKNOWN) for standing in standings] or [UNKNOWN], np.int64)
    return led[np.maximum(np.searchsorted([standing.at_ns for standing in standings], times_ns, side="right") - 1, 0)]
