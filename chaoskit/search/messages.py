"""One fault on one message at a time: what does each lost, late or doubled message do?

A quiet run counts the messages of each kind that pass. Then one run for each kind, direction, place (the first, one in
the middle, a late one) and action; nothing else happens in it. The idea is that of lineage-driven fault injection
(Alvaro et al., SIGMOD 2015) and of Filibuster (Meiklejohn et al., SoCC 2021), for the messages of a system's protocol.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from chaoskit.base import owner, plugins, store
from chaoskit.base.errors import BadInput, RunFailed, nearest
from chaoskit.base.quantities import format_duration
from chaoskit.contract import installed
from chaoskit.contract.event import Event, FaultHealed, Watcher
from chaoskit.contract.faults.exploring import Aim, Exploring, Wishes
from chaoskit.contract.faults.nemesis import Preparing
from chaoskit.contract.mistakes import validated
from chaoskit.judge.verdict.verdict import INVALID, UNKNOWN, VALID
from chaoskit.run.eventlog import EVENTS
from chaoskit.run.site import Site
from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.plan import Plan, make_plan

SUFFIX = "-wire"
"""Suffix of the scenario name for its runs."""

RESULT = "wire-points.json"


@dataclass(frozen=True, slots=True)
class WirePoint:
    """What one fault did.

    Attributes:
        aim: the message, and what was done.
        verdict: the verdict of the run; `unknown`, too, if there was no such message, or the run failed.
        done: whether it was done with the message.
        counts: by anomaly, how many there were: of those in `harm`, and of those that the quiet run had not.
        open: number of sends without an outcome.
        unavailable_ms: the longest time without an acknowledgement in a partition, if there was one.
        why: the reasons of a verdict that is not `valid`, or what explains the anomalies.
        run: folder of the run; empty if it failed before it had one.
    """

    aim: Aim
    verdict: str
    done: bool
    counts: Mapping[str, int]
    open: int
    unavailable_ms: float | None
    why: str
    run: str


@dataclass(frozen=True, slots=True)
class WireCounted(Event):
    """The quiet run is over: so many kinds of messages passed, and so many runs follow."""

    kinds: int
    runs: int


@dataclass(frozen=True, slots=True)
class WireTried(Event):
    """A fault was tried: number `number` of `total`."""

    number: int
    total: int
    point: WirePoint


def explore(plan: Plan, store_folder: Path, watcher: Watcher, wishes: Wishes) -> list[WirePoint]:
    """Try one fault on the wire at a time; write `wire-points.json` into the quiet run's folder after each.

    Args:
        plan: the cluster and the load; its faults are left out.
        store_folder: where the runs are kept.
        watcher: receives events, including one per fault (`WireTried`).
        wishes: which messages.

    Raises:
        BadInput: the runs are not possible, such as because the messages of the system cannot be found.
        RunFailed: the quiet run failed, is invalid, or had no such message.
    """
    kind, exploring = _exploring()
    wishes = replace(wishes, then=wishes.then or exploring.actions)
    explorer = _Explorer(plan, kind, exploring)
    explorer.check(wishes)
    points: list[WirePoint] = []
    hosts = list(plan.scenario.cluster.host_names[: plan.scenario.cluster.hosts])
    with Site(store_folder) as site:
        quiet, verdict = site.run(explorer.planned(exploring.counting(hosts)), watcher)
        if verdict.verdict == INVALID:
            raise RunFailed(f"the quiet run is invalid already: {'; '.join(verdict.reasons)}\nrun folder: {quiet}")
        usual = verdict.as_json()["anomalies"].keys() - set(harm())
        healed = _healed(quiet)
        aims = exploring.aims(exploring.passed(healed["figures"]), hosts, wishes)
        wanted = [(aim, possible) for aim in aims if (possible := explorer.plan_of(aim)) is not None]
        if not wanted:
            words = ", ".join(wishes.messages)
            raise RunFailed(f"no {words} passed the taps: {healed['evidence']}\nrun folder: {quiet}")
        watcher.on(WireCounted(len({(aim.of, aim.message) for aim, _ in wanted}), len(wanted)))
        for number, (aim, possible) in enumerate(wanted, 1):
            points.append(_try(possible, aim, usual, site, watcher))
            watcher.on(WireTried(number, len(wanted), points[-1]))
            store.write_json(quiet / RESULT, [asdict(point) for point in points])
            owner.give([quiet / RESULT])
    return points


def harm() -> list[str]:
    """Return the anomalies that are counted for each fault; another one is told if the quiet run had none of it."""
    return [name for name, anomaly in installed.anomalies().items() if anomaly.tabled]


def _exploring() -> tuple[str, Exploring]:
    """Return the nemesis that can do it, with the name of its kind."""
    for kind in plugins.names("nemesis"):
        nemesis = installed.nemesis(kind)
        if isinstance(nemesis, Exploring):
            return kind, nemesis
    raise BadInput("no installed fault acts on single messages; install the package that has it")


def _healed(quiet: Path) -> Mapping[str, Any]:
    """Return the event with which the fault of the quiet run was healed."""
    lines = (quiet / EVENTS).read_text(encoding="utf-8").splitlines()
    healed = [event for event in map(json.loads, lines) if event["event"] == FaultHealed.__name__]
    if not healed:
        raise RunFailed(f"what passed was not counted: see {quiet / EVENTS}")
    event: Mapping[str, Any] = healed[-1]
    return event


class _Explorer:
    """Makes the plans of the runs."""

    def __init__(self, plan: Plan, kind: str, exploring: Exploring) -> None:
        self._plan = plan
        self._kind = kind
        self._exploring = exploring

    def planned(self, keys: Mapping[str, Any]) -> Plan:
        """Return the plan with one fault, for as long as its load takes."""
        plan = self._plan
        content = plan.resolved()
        duration = format_duration(min(plan.scenario.workload.duration, self._exploring.load_ns))
        content = {
            **{key: value for key, value in content.items() if key not in {"expect", "accept"}},
            "name": f"{content['name'].removesuffix(SUFFIX)}{SUFFIX}",
            "workload": {**content["workload"], "duration": duration},
            "faults": [{"at": "0s", "for": duration, "inject": self._kind, **keys}],
        }
        return make_plan(parse_scenario(content, plan.source), plan.source)

    def check(self, wishes: Wishes) -> None:
        """Reject names and actions that there are not, before anything is run."""
        kinds = self._exploring.names(self._plan.system, self._plan.system_options)
        names = sorted({name for of_direction in kinds.values() for name in of_direction})
        for pattern in wishes.messages:
            if not any(fnmatchcase(name, pattern) for name in names):
                raise BadInput(f"--message: there is no {pattern!r}; {nearest(pattern, names)}")
        for then in wishes.then:
            aims = (Aim((), of, name, 1, 1, then) for of, of_direction in kinds.items() for name in of_direction)
            refusals = [self._refusal(aim) for aim in aims]
            if all(refusals):
                raise BadInput(f"--then: {refusals[-1]}")

    def plan_of(self, aim: Aim) -> Plan | None:
        """Return the plan of one fault; None if this cannot be done with such a message."""
        return None if self._refusal(aim) else self.planned(self._exploring.keys(aim))

    def _refusal(self, aim: Aim) -> str:
        """Return why something cannot be done with a kind of message; empty if it can."""
        plan, kind = self._plan, installed.nemesis(self._kind)
        try:
            keys = {key: value for key, value in self._exploring.keys(aim).items() if key != "on"}
            parameters = validated(kind.parameters, keys, plan.source, "")
            if isinstance(kind, Preparing):
                kind.prepare(plan.system, plan.system_options, parameters)
        except BadInput as error:
            return str(error).removeprefix(f"{plan.source}: ")
        return ""


def _try(plan: Plan, aim: Aim, usual: Set[str], site: Site, watcher: Watcher) -> WirePoint:
    try:
        _, verdict = site.run(plan, watcher)
    except RunFailed as error:
        why = " ".join(str(error).split())
        return WirePoint(aim, UNKNOWN, False, {}, 0, None, why, "")
    content = verdict.as_json()
    anomalies = {name: anomaly for name, anomaly in content["anomalies"].items() if name not in usual}
    done = bool(content["faults"][0]["effective"])
    reasons = "; ".join(content["reasons"]) if content["verdict"] != VALID else ""
    return WirePoint(
        aim=aim,
        verdict=content["verdict"],
        done=done,
        counts={name: anomaly["count"] for name, anomaly in anomalies.items()},
        open=content["counts"]["indeterminate"],
        unavailable_ms=content["availability"].get("longest_unavailable_ms"),
        why=reasons or "; ".join(dict.fromkeys(anomaly["why"] for anomaly in anomalies.values() if anomaly["why"])),
        run=content["run"],
    )
