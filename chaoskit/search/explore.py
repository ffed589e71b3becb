"""Crash points: after a power cut at a given point, does the system start with everything that it acknowledged?

Requires a run whose disks were recorded. For each crash point, the disk of each host is rebuilt as a power cut would
have left it; the hosts boot with them, the system starts, and everything is read. Each point is a separate run with its
own folder and logs. The idea comes from CrashMonkey (Mohan et al., OSDI 2018) and ALICE (Pillai et al., OSDI 2014),
applied to a whole cluster.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base import owner, store
from chaoskit.base.errors import BadInput, RunFailed
from chaoskit.base.state import state_folder
from chaoskit.contract.event import Event, Watcher
from chaoskit.contract.hosts.disk import CutMode
from chaoskit.contract.systems.service import ServiceError
from chaoskit.history.reading.reader import History
from chaoskit.judge.verdict.verdict import INVALID, UNKNOWN, VALID, Verdict
from chaoskit.model.place import Place
from chaoskit.run.site import Site
from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.plan import Plan, make_plan
from chaoskit.search.instants import Instant, instants
from chaoskit.search.recorded import Recorded

SUFFIX = "-crash"
"""Suffix of the scenario name for the runs of its crash points."""

RESULT = "crash-points.json"

_TRIES = 20
"""Of so many instants in a row, one must give a state that was not tried yet."""


@dataclass(frozen=True, slots=True)
class CrashWishes:
    """Which crash points to try.

    Attributes:
        count: number of points.
        seed: seed for the points and for the writes that each cut keeps.
        on_cut: what happens to unflushed writes: a mode of `chaoskit.contract.hosts.disk.CutMode`.
        apart_ns: the hosts lose their power within so many ns of each other.
        whole: at each point, one host, drawn, loses nothing that its disk had received.
    """

    count: int
    seed: int = 0
    on_cut: str = CutMode.REORDER.value
    apart_ns: int = 0
    whole: bool = False


@dataclass(frozen=True, slots=True)
class HostCut:
    """The power cut of one host at a crash point.

    Attributes:
        at_ns: when, ns since the start of the run.
        operation: number of the disk operation after which it is; 0 is before the first.
        on_cut: what happens to unflushed writes.
    """

    at_ns: int
    operation: int
    on_cut: str


@dataclass(frozen=True, slots=True)
class CrashPoint:
    """The result of one crash point.

    Attributes:
        at_s: time of the first cut, s since the start of the run.
        why: why this instant was chosen; see `chaoskit.search.instants`.
        cuts: by host, the number of the disk `operation` after which the power was cut, and what the disk kept of its
            unflushed writes.
        started: whether the system started on it and served requests; None if that is not known, since the trial failed
            for another reason.
        why_not: the reason if it did not start, or is not known to have.
        acked: number of messages acknowledged before the first cut that the system must still have: of a queue, those
            that no consumer had begun to settle.
        lost: how many of them could not be read; None if the data model keeps nothing.
        predicted: how many of them no disk had on stable storage; None if that cannot be seen, or nothing is kept.
        allowed: whether the guarantees allow a loss.
        run: folder of the point's own run; empty if it failed before it had one.
        flushed: how many of the lost ones all their replicas had on stable storage; None if that cannot be seen.
    """

    at_s: float
    why: str
    cuts: Mapping[str, Mapping[str, Any]]
    started: bool | None
    why_not: str
    acked: int
    lost: int | None
    predicted: int | None
    allowed: bool
    run: str
    flushed: int | None = None

    @property
    def verdict(self) -> str:
        """Whether the system started without a loss that is not allowed. Whatever the guarantees say, it must not lose
        what all replicas had flushed."""
        if self.started is None:
            return UNKNOWN
        return VALID if self.started and (not self.lost or (self.allowed and not self.thrown_away)) else INVALID

    @property
    def thrown_away(self) -> int:
        """How many messages the system lost although the disks had them; if it is not known on how many each was, those
        that are more than predicted."""
        if self.flushed is not None:
            return self.flushed
        return 0 if self.predicted is None else max((self.lost or 0) - self.predicted, 0)


@dataclass(frozen=True, slots=True)
class PointTried(Event):
    """A crash point was tried: number `number` of `total`."""

    number: int
    total: int
    point: CrashPoint


def explore(folder: Path, store_folder: Path, watcher: Watcher, wishes: CrashWishes) -> list[CrashPoint]:
    """Explore crash points of a recorded run; write them to its `crash-points.json` and return them. There are fewer
    than wished if the run has no more states that differ.

    Args:
        folder: the run folder.
        store_folder: where the runs of the points are kept.
        watcher: receives events, including one per point (`PointTried`).
        wishes: which points.

    Raises:
        BadInput: the disk of a host was not recorded.
    """
    recorded = Recorded.open(folder)
    state_folder().mkdir(parents=True, exist_ok=True)
    crash_points: list[CrashPoint] = []
    with Site(store_folder, shared=False) as site:
        for number, (instant, cuts) in enumerate(points(recorded, wishes), 1):
            with tempfile.TemporaryDirectory(dir=state_folder()) as scratch:
                images = {host: Path(scratch, host) for host in cuts}
                kept = {
                    host: recorded.provider.crash_image(
                        recorded.hosts[host].recording,
                        images[host],
                        cut.operation,
                        cut.on_cut,
                        wishes.seed + cut.operation,
                    )
                    for host, cut in cuts.items()
                }
                point = _try(recorded, instant, cuts, kept, images, lambda plan: site.run(plan, watcher))
            crash_points.append(point)
            watcher.on(PointTried(number, wishes.count, point))
            store.write_json(folder / RESULT, [asdict(point) for point in crash_points])
            owner.give([folder / RESULT])
    return crash_points


def points(recorded: Recorded, wishes: CrashWishes) -> Iterator[tuple[Instant, dict[str, HostCut]]]:
    """Yield crash points that leave the disks in states that differ: the instant, and the cut of each host."""
    source = random.Random(wishes.seed)  # noqa: S311  # reproducible, not secret
    tried: set[tuple[str, ...]] = set()
    in_vain = 0
    for instant in instants(recorded, wishes.seed):
        if len(tried) == wishes.count or in_vain == _TRIES:
            return
        whole = source.choice(list(recorded.hosts)) if wishes.whole else None
        cuts = {}
        for host, disk in recorded.hosts.items():
            at_ns = instant.at_ns + source.randint(0, wishes.apart_ns)
            mode = CutMode.WHOLE.value if host == whole else wishes.on_cut
            cuts[host] = HostCut(at_ns, disk.operation_at(at_ns), mode)
        state = tuple(
            recorded.provider.crash_state(
                recorded.hosts[host].recording, cut.operation, cut.on_cut, wishes.seed + cut.operation
            )
            for host, cut in cuts.items()
        )
        in_vain = in_vain + 1 if state in tried else 0
        if state not in tried:
            tried.add(state)
            yield instant, cuts


def _try(  # noqa: PLR0917 - what a point is
    recorded: Recorded,
    instant: Instant,
    cuts: Mapping[str, HostCut],
    kept: Mapping[str, Mapping[str, Any]],
    images: Mapping[str, Path],
    start: Callable[[Plan], tuple[Path, Verdict]],
) -> CrashPoint:
    """Start the system on the disks after the cut, and read everything."""
    times_ns = [cut.at_ns for cut in cuts.values()]
    acked = recorded.acked_before(min(times_ns))
    started: bool | None = True
    why_not, readable, where = "", {}, ""
    source = str(recorded.folder / store.SCENARIO)
    disk = recorded.provider.disk_with(recorded.plan.provider_options, images)
    plan = make_plan(parse_scenario(restart(recorded.plan.resolved(), disk), source), source)
    try:
        folder, verdict = start(plan)
        where, readable = verdict.run, _readable(folder)
        if not (verdict.liveness.get("recovered") and verdict.audit["complete"]):
            started, why_not = False, "; ".join(verdict.reasons)
    except (RunFailed, BadInput) as error:
        started = False if isinstance(error.__cause__, ServiceError) else None
        why_not = " ".join(str(error).split())
    lost = {
        place: values.filter(pc.invert(pc.is_in(values, value_set=readable.get(place, pa.array([], pa.int64())))))
        for place, values in acked.items()
        if started
    }
    whole = [cut.on_cut == CutMode.WHOLE.value for cut in cuts.values()]
    return CrashPoint(
        at_s=round(min(times_ns) / 1e9, 3),
        why=instant.why,
        cuts={host: {"operation": cut.operation, **kept.get(host, {})} for host, cut in cuts.items()},
        started=started,
        why_not=why_not,
        acked=sum(map(len, acked.values())),
        lost=sum(map(len, lost.values())) if recorded.keeps else None,
        predicted=recorded.missing_at(times_ns, whole) if recorded.keeps else None,
        allowed=recorded.allowance.allowed,
        run=where,
        flushed=recorded.whole_of(lost, times_ns, whole) if recorded.keeps else None,
    )


def restart(content: Mapping[str, Any], disk: Mapping[str, Any]) -> dict[str, Any]:
    """Return the scenario of a point's run: the same cluster on the given disks, the least load, no fault.

    Args:
        content: the recorded run's resolved scenario.
        disk: options of the disks.
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
    for partition in history.partitions:
        messages = history.messages(partition.topic, partition.partition)
        foreign = messages.filter(pc.equal(messages["payload"].cast(pa.string()), "foreign"))
        values[partition.topic, partition.partition] = foreign["value"].combine_chunks()
    return values
