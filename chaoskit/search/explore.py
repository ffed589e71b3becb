"""Crash points: after a power cut at a given point, does the system start with everything that it acknowledged?

Requires a run on one host whose disk was recorded. For each crash point, the disk is rebuilt as a power cut right
after a chosen operation would have left it; a host boots with it, the system starts, and everything is read. Each
point is a separate run with its own folder and logs. The idea comes from CrashMonkey (Mohan et al., OSDI 2018) and
ALICE (Pillai et al., OSDI 2014), applied to a whole broker.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base import owner, store
from chaoskit.base.errors import BadInput, RunFailed
from chaoskit.base.state import state_folder
from chaoskit.contract import installed
from chaoskit.contract.anomaly import Gone
from chaoskit.contract.disk import CrashPoints
from chaoskit.contract.event import Event, Watcher
from chaoskit.contract.guarantee import Allowance, Damage, Effect
from chaoskit.contract.service import ServiceError
from chaoskit.contract.vocabulary import Place
from chaoskit.history.digesting.live import require_history
from chaoskit.history.format.origin import read_origin
from chaoskit.history.reading.reader import History
from chaoskit.judge.guarantees import allowances
from chaoskit.judge.recovery import read_recovery
from chaoskit.judge.subject import read_subject
from chaoskit.judge.verdict import INVALID, UNKNOWN, VALID, Verdict
from chaoskit.run.site import Site
from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.plan import Plan, make_plan

SUFFIX = "-crash"
"""Suffix of the scenario name for the runs of its crash points."""

RESULT = "crash-points.json"


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """The result of one crash point.

    Attributes:
        operation: number of the disk operation after which the power was cut; 0 is before the first.
        at_s: time of the cut, s since the start of the run.
        cut: what the disk kept of its unflushed writes.
        started: whether the system started on it and served requests; None if that is not known, since the trial failed
            for another reason.
        why_not: the reason if it did not start, or is not known to have.
        acked: number of messages acknowledged before the cut that the system must still have: of a queue, those that
            no consumer had received.
        lost: how many of them could not be read; None if the data model keeps nothing.
        allowed: whether the guarantees allow a loss.
        run: folder of the point's own run; empty if it failed before it had one.
    """

    operation: int
    at_s: float
    cut: Mapping[str, Any]
    started: bool | None
    why_not: str
    acked: int
    lost: int | None
    allowed: bool
    run: str

    @property
    def verdict(self) -> str:
        """Whether the system started without a disallowed loss."""
        if self.started is None:
            return UNKNOWN
        return VALID if self.started and (not self.lost or self.allowed) else INVALID


@dataclass(frozen=True, slots=True)
class PointTried(Event):
    """A crash point was tried: number `number` of `total`."""

    number: int
    total: int
    point: CrashPoint


@dataclass(frozen=True, slots=True)
class Recorded:
    """A run with a disk recording: its plan, history, recording, and the times of its disk operations."""

    folder: Path
    plan: Plan
    history: History
    recording: Path
    times_ns: Sequence[int]
    provider: CrashPoints

    @classmethod
    def open(cls, folder: Path) -> Recorded:
        """Open a recorded run of one host.

        Raises:
            BadInput: it has several hosts, or its disk was not recorded.
        """
        plan = read_subject(folder).plan
        if plan is None or plan.scenario.cluster.hosts != 1:
            raise BadInput(f"{folder}: exploring crash points requires a run with one host (cluster.hosts: 1)")
        require_history(folder)
        recording = folder / store.RECORDINGS / plan.host_names[0]
        if not isinstance(plan.provider, CrashPoints) or not recording.is_dir():
            raise BadInput(
                f"{folder}: its disk was not recorded; run with cluster.disk: {{kind: programmable, record: true}}"
            )
        origin_ns = read_origin(folder / "wal")
        times = [time_ns - origin_ns for time_ns in plan.provider.operation_times(recording)]
        return cls(folder, plan, History.open(folder), recording, times, plan.provider)

    @property
    def allowance(self) -> Allowance:
        """Whether the declared settings allow a loss by one power cut."""
        cut = Effect("power-cut", tuple(self.plan.host_names), True, Damage.FORGETS, 0, None)
        table = allowances(
            self.plan.system.guarantees, installed.anomalies(), self.plan.declared, [cut], self.plan.scenario.accept
        )
        return next((table[name] for name in installed.gone(Gone.LOST)), Allowance(False, "not declared"))

    def points(self, count: int, seed: int) -> list[int]:
        """Return `count` operations in order, one drawn from each of as many equally long sections of the log. A
        quarter of them is before the start of the load (formatting and start-up), the rest after it."""
        source = random.Random(seed)  # noqa: S311  # reproducible, not secret
        load_start_ns = read_recovery(self.folder).get("load_start_ns", 0)
        before = int(np.searchsorted(self.times_ns, load_start_ns))
        early = np.linspace(0, before, count // 4 + 1)
        late = np.linspace(before, len(self.times_ns), count - count // 4 + 1)
        edges = [*early.astype(int).tolist(), *late.astype(int).tolist()[1:]]
        return [source.randrange(low, high) + 1 for low, high in pairwise(edges) if low < high]

    @property
    def keeps(self) -> bool:
        """Whether what was sent can be read later."""
        return all(topic.model.keeps for topic in self.plan.declared.topics)

    def acked_before(self, time_ns: int) -> dict[Place, pa.Array]:
        """Return, for each partition, the values of the messages that were acknowledged before a given time, and that
        the system must still have then."""
        taken = {topic.name for topic in self.plan.declared.topics if topic.model.gives_back}
        operations = self.history.operations
        done = pc.and_(pc.equal(operations["outcome"].cast(pa.string()), "ok"), pc.less(operations["end_ns"], time_ns))
        acked = pc.fill_null(done, False).to_numpy()
        values = {}
        for each in self.history.partitions:
            messages = self.history.messages(each.topic, each.partition)
            direction = messages["direction"].cast(pa.string())
            sent = messages.filter(pc.equal(direction, "sent"))
            there = sent["value"].filter(pa.array(acked[sent["op"].to_numpy()]))
            if each.topic in taken:
                received = pc.and_(pc.equal(direction, "received"), pc.less(messages["received_ns"], time_ns))
                gone = messages.filter(received)["value"].combine_chunks()
                there = there.filter(pc.invert(pc.is_in(there, value_set=gone)))
            values[each.topic, each.partition] = there
        return values


def explore(
    folder: Path, store_folder: Path, watcher: Watcher, *, count: int, seed: int, on_cut: str
) -> list[CrashPoint]:
    """Explore crash points of a recorded run; write them to its `crash-points.json` and return them.

    Args:
        folder: the run folder.
        store_folder: where the runs of the points are kept.
        watcher: receives events, including one per point (`PointTried`).
        count: number of points.
        seed: seed for the points and for the writes that each cut keeps.
        on_cut: what happens to unflushed writes: a mode of `chaoskit.contract.disk.CutMode`.

    Raises:
        BadInput: the run has several hosts, or its disk was not recorded.
    """
    recorded = Recorded.open(folder)
    state_folder().mkdir(parents=True, exist_ok=True)
    found: list[CrashPoint] = []
    with Site(store_folder, shared=False) as site:
        for number, operation in enumerate(recorded.points(count, seed), 1):
            with tempfile.TemporaryDirectory(dir=state_folder()) as scratch:
                image = Path(scratch, "image")
                cut = recorded.provider.crash_image(recorded.recording, image, operation, on_cut, seed + operation)
                point = _try(recorded, operation, cut, image, lambda plan: site.run(plan, watcher))
            found.append(point)
            watcher.on(PointTried(number, count, point))
            store.write_json(folder / RESULT, [asdict(each) for each in found])
            owner.give([folder / RESULT])
    return found


def _try(
    recorded: Recorded,
    operation: int,
    cut: Mapping[str, Any],
    image: Path,
    start: Callable[[Plan], tuple[Path, Verdict]],
) -> CrashPoint:
    """Start the system on the disk after the cut, and read everything."""
    time_ns = recorded.times_ns[operation - 1]
    acked = recorded.acked_before(time_ns)
    started: bool | None = True
    why_not, readable, where = "", {}, ""
    source = str(recorded.folder / store.SCENARIO)
    disk = recorded.provider.disk_with(recorded.plan.provider_options, {recorded.plan.host_names[0]: image})
    plan = make_plan(parse_scenario(restart(recorded.plan.resolved(), disk), source), source)
    try:
        folder, verdict = start(plan)
        where, readable = verdict.run, _readable(folder)
        if not (verdict.liveness.get("recovered") and verdict.audit["complete"]):
            started, why_not = False, "; ".join(verdict.reasons)
    except (RunFailed, BadInput) as error:
        started = False if isinstance(error.__cause__, ServiceError) else None
        why_not = " ".join(str(error).split())
    lost = sum(
        pc.sum(pc.invert(pc.is_in(values, value_set=readable.get(place, pa.array([], pa.int64()))))).as_py() or 0
        for place, values in acked.items()
        if started
    )
    total = sum(map(len, acked.values()))
    return CrashPoint(
        operation=operation,
        at_s=round(time_ns / 1e9, 3),
        cut=cut,
        started=started,
        why_not=why_not,
        acked=total,
        lost=lost if recorded.keeps else None,
        allowed=recorded.allowance.allowed,
        run=where,
    )


def restart(content: Mapping[str, Any], disk: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scenario of a point's run: the same cluster on the given disk, the least load, no fault.

    Args:
        content: the recorded run's resolved scenario.
        disk: options of the disk.
    """
    return {
        "name": f"{content['name'].removesuffix(SUFFIX)}{SUFFIX}",
        "seed": content["seed"],
        "cluster": {**content["cluster"], "disk": dict(disk)},
        "workload": {**content["workload"], "producers": 1, "consumers": 0, "rate": 1, "duration": "1s"},
    }


def _readable(folder: Path) -> dict[Place, pa.Array]:
    """Return, for each partition, the values of intact messages of another run that were read."""
    history = History.open(folder)
    values = {}
    for each in history.partitions:
        messages = history.messages(each.topic, each.partition)
        foreign = messages.filter(pc.equal(messages["payload"].cast(pa.string()), "foreign"))
        values[each.topic, each.partition] = foreign["value"].combine_chunks()
    return values
