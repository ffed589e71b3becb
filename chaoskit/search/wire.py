"""One fault on the wire at a time: what does each lost, late or doubled message do?

A quiet run counts the messages of each kind that pass. Then one run for each kind, direction, place (the first, one in
the middle, a late one) and action; nothing else happens in it. The idea is that of lineage-driven fault injection
(Alvaro et al., SIGMOD 2015) and of Filibuster (Meiklejohn et al., SoCC 2021), for the messages of a system's protocol.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from chaoskit.base import owner, parquet, store
from chaoskit.base.errors import BadInput, RunFailed, nearest
from chaoskit.base.quantities import SECOND, format_duration
from chaoskit.contract.event import Event, Watcher
from chaoskit.contract.installed import nemesis
from chaoskit.contract.mistakes import validated
from chaoskit.contract.nemesis import Counting, Preparing
from chaoskit.history.compacting.faults import FAULTS_FILE
from chaoskit.history.format.schema import FAULTS
from chaoskit.judge.verdict import INVALID, UNKNOWN, VALID
from chaoskit.run.site import Site
from chaoskit.scenario.model import parse_scenario
from chaoskit.scenario.plan import Plan, make_plan

SUFFIX = "-wire"
"""Suffix of the scenario name for its runs."""

RESULT = "wire-points.json"

THEN = ("drop", "drop-and-close", "duplicate", "delay 3s")
"""What is done with a message by default."""

LOAD_NS = 8 * SECOND
"""How long the load of a run takes at most: the effect of a fault on the wire is awaited for 10 s."""

HARM = ("lost", "duplicate", "reordered")
"""The anomalies that are told of each fault; another one is told if the quiet run had none of it."""

_KIND = "wire"
_COUNT = "count"
_LATE = 0.75
"""Where a late message is among all of its kind: the very last one may not come in another run."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """Which messages to try.

    Attributes:
        messages: patterns of their names.
        then: what is done with each.
    """

    messages: Sequence[str] = ("*",)
    then: Sequence[str] = THEN


@dataclass(frozen=True, slots=True)
class Aim:
    """One message, and what is done with it.

    Attributes:
        on: the host at whose tap it is counted; all hosts, if only one had such messages in the quiet run: it comes to
            whoever leads.
        of: `request` or `response`.
        message: its name in the protocol.
        number: which one of its kind, from 1.
        among: how many the quiet run had there.
        then: what is done with it.
    """

    on: tuple[str, ...]
    of: str
    message: str
    number: int
    among: int
    then: str


@dataclass(frozen=True, slots=True)
class WirePoint:
    """What one fault did.

    Attributes:
        aim: the message, and what was done.
        verdict: the verdict of the run; `unknown`, too, if there was no such message, or the run failed.
        done: whether it was done with the message.
        counts: by anomaly, how many there were: of `HARM`, and of those that the quiet run had not.
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
    _check(plan, wishes)
    found: list[WirePoint] = []
    hosts = list(plan.scenario.cluster.host_names[: plan.scenario.cluster.hosts])
    with Site(store_folder) as site:
        quiet, verdict = site.run(_with(plan, {"on": hosts, "message": "*", "then": _COUNT}), watcher)
        if verdict.verdict == INVALID:
            raise RunFailed(f"the quiet run is invalid already: {'; '.join(verdict.reasons)}\nrun folder: {quiet}")
        usual = verdict.as_json()["anomalies"].keys() - set(HARM)
        counts, evidence = _counts(quiet)
        wanted = [(aim, possible) for aim in aims(counts, hosts, wishes) if (possible := _plan(plan, aim)) is not None]
        if not wanted:
            raise RunFailed(f"no {', '.join(wishes.messages)} passed the taps: {evidence}\nrun folder: {quiet}")
        watcher.on(WireCounted(len({(aim.of, aim.message) for aim, _ in wanted}), len(wanted)))
        for number, (aim, possible) in enumerate(wanted, 1):
            found.append(_try(possible, aim, usual, site, watcher))
            watcher.on(WireTried(number, len(wanted), found[-1]))
            store.write_json(quiet / RESULT, [asdict(each) for each in found])
            owner.give([quiet / RESULT])
    return found


def aims(counts: Mapping[tuple[str, str, str], int], hosts: Sequence[str], wishes: Wishes) -> Iterator[Aim]:
    """Yield what is tried with the messages that a quiet run had: each kind at the host that had most of it, or at
    whichever has it, if only one had.

    >>> counts = {("n1", "request", "Fetch"): 40, ("n2", "request", "Fetch"): 41, ("n1", "request", "Vote"): 1}
    >>> [(aim.on, aim.message, aim.number) for aim in aims(counts, ["n1", "n2"], Wishes(then=["drop"]))]
    [(('n2',), 'Fetch', 1), (('n2',), 'Fetch', 20), (('n2',), 'Fetch', 31), (('n1', 'n2'), 'Vote', 1)]
    """
    had: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for (host, of, message), count in counts.items():
        if any(fnmatchcase(message, pattern) for pattern in wishes.messages):
            had.setdefault((message, of), []).append((count, host))
    for (message, of), found in sorted(had.items()):
        count, host = max(found)
        on = tuple(hosts) if len(found) == 1 else (host,)
        for number in dict.fromkeys((1, max(1, count // 2), math.ceil(count * _LATE))):
            for then in wishes.then:
                yield Aim(on, of, message, number, count, then)


def _with(plan: Plan, fault: Mapping[str, Any]) -> Plan:
    """Return a plan with one fault on the wire, for as long as its load takes."""
    content = plan.resolved()
    duration = format_duration(min(plan.scenario.workload.duration, LOAD_NS))
    content = {
        **{key: value for key, value in content.items() if key not in {"expect", "accept"}},
        "name": f"{content['name'].removesuffix(SUFFIX)}{SUFFIX}",
        "workload": {**content["workload"], "duration": duration},
        "faults": [{"at": "0s", "for": duration, "inject": _KIND, **fault}],
    }
    return make_plan(parse_scenario(content, plan.source), plan.source)


def _check(plan: Plan, wishes: Wishes) -> None:
    """Reject names and actions that there are not, before anything is run."""
    kinds = _counting().kinds(plan.system, plan.system_options)
    names = sorted({name for each in kinds.values() for name in each})
    for pattern in wishes.messages:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise BadInput(f"--message: there is no {pattern!r}; {nearest(pattern, names)}")
    for then in wishes.then:
        if then == _COUNT:
            raise BadInput(f"--then: {_COUNT} does nothing; remove it")
        why = [_refusal(plan, of, name, then) for of, each in kinds.items() for name in each]
        if all(why):
            raise BadInput(f"--then: {why[-1]}")


def _refusal(plan: Plan, of: str, message: str, then: str) -> str:
    """Return why something cannot be done with a kind of message; empty if it can."""
    kind = nemesis(_KIND)
    try:
        parameters = validated(kind.parameters, {"message": message, "of": of, "then": then}, plan.source, "")
        if isinstance(kind, Preparing):
            kind.prepare(plan.system, plan.system_options, parameters)
    except BadInput as error:
        return str(error).removeprefix(f"{plan.source}: ")
    return ""


def _counting() -> Any:
    counting = nemesis(_KIND)
    assert isinstance(counting, Counting)
    return counting


def _counts(quiet: Path) -> tuple[Mapping[tuple[str, str, str], int], str]:
    (fault,) = parquet.read(quiet / FAULTS_FILE, FAULTS).to_pylist()
    return _counting().counted(fault["evidence"]), fault["evidence"]


def _plan(plan: Plan, aim: Aim) -> Plan | None:
    """Return the plan of one fault; None if this cannot be done with such a message."""
    if _refusal(plan, aim.of, aim.message, aim.then):
        return None
    fault = {"on": list(aim.on), "message": aim.message, "of": aim.of, "which": [aim.number], "then": aim.then}
    return _with(plan, fault)


def _try(plan: Plan, aim: Aim, usual: Set[str], site: Site, watcher: Watcher) -> WirePoint:
    try:
        _, verdict = site.run(plan, watcher)
    except RunFailed as error:
        why = " ".join(str(error).split())
        return WirePoint(aim, UNKNOWN, False, {}, 0, None, why, "")
    told = verdict.as_json()
    anomalies = {name: each for name, each in told["anomalies"].items() if name not in usual}
    done = bool(told["faults"][0]["effective"])
    reasons = "; ".join(told["reasons"]) if told["verdict"] != VALID else ""
    return WirePoint(
        aim=aim,
        verdict=told["verdict"],
        done=done,
        counts={name: each["count"] for name, each in anomalies.items()},
        open=told["counts"]["indeterminate"],
        unavailable_ms=told["availability"].get("longest_unavailable_ms"),
        why=reasons or "; ".join(dict.fromkeys(each["why"] for each in anomalies.values() if each["why"])),
        run=told["run"],
    )
