"""Verdicts: what a run proves, from findings and allowances.

`invalid`: the cluster did not recover within its bound, an anomaly was found that the guarantees do not
allow, or an explicit expectation failed. `unknown`: nothing disallowed was found, but the final read is
incomplete, a fault had no effect, or nothing was acknowledged. `valid`: otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import Gone
from chaoskit.contract.guarantees.guarantee import Allowance
from chaoskit.history.compacting.drivers import DriverTold
from chaoskit.judge.explaining.attribution import Cause
from chaoskit.judge.faults.consequence import meets
from chaoskit.judge.faults.consequence_words import in_words
from chaoskit.judge.faults.instances import EndedTold
from chaoskit.judge.timing.machine import Machine
from chaoskit.judge.verdict.bounds import Bounded, describe
from chaoskit.judge.verdict.headline import headline, lost_messages, without_consequence
from chaoskit.scenario.expected import Number

VALID, INVALID, UNKNOWN = "valid", "invalid", "unknown"
_BEHIND_SHOWN = 5
EXIT_CODES = {VALID: 0, INVALID: 1, UNKNOWN: 2}


@dataclass(frozen=True, slots=True)
class Lasted:
    """How long the findings of one anomaly lasted, in the median and at most, milliseconds; also by detail."""

    p50: float
    max: float
    by_detail: Mapping[str, LastedDetail] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Return it as in verdict.json."""
        details = {detail: asdict(lasted) for detail, lasted in self.by_detail.items()}
        return {"p50": self.p50, "max": self.max, "by_detail": details}


@dataclass(frozen=True, slots=True)
class LastedDetail:
    """How many findings have one detail, and how long they lasted, in the median and at most, milliseconds."""

    count: int
    p50: float
    max: float


@dataclass(frozen=True, slots=True)
class Found:
    """The findings of one anomaly in one run.

    Attributes:
        count: number of findings.
        allowed: whether the declared settings, or an explicit expectation, allow them.
        why: the setting or expectation that decides it.
        remedy: the setting to change.
        between_s: time of the first and the last occurrence, s since the start of the run.
        examples: a few findings, as rows.
        causes: what explains them: rule, fault (number), why, remedy, known (link, if it is a known issue), faults
            (numbers of all that it takes), what (the faults in words) and count (number of findings) of each cause.
        doubt: what could not be decided, if it proves nothing; see `chaoskit.contract.checkers.anomaly.Anomaly`.
        unrecorded: why nothing could be found of what was expected; empty if it could.
        messages: number of messages of the load that the findings are about; None: as many as there are findings.
        probes: number of findings about messages that the final read sent.
        lasted_ms: how long they lasted, if they last; else None.
    """

    count: int
    allowed: bool
    why: str
    remedy: str = ""
    between_s: tuple[float, float] | None = None
    examples: tuple[Mapping[str, Any], ...] = ()
    causes: tuple[Mapping[str, Any], ...] = ()
    doubt: str = ""
    unrecorded: str = ""
    messages: int | None = None
    probes: int = 0
    lasted_ms: Lasted | None = None

    @property
    def distinct(self) -> int:
        """Number of messages that the findings are about."""
        return self.count if self.messages is None else self.messages


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict of one run; `as_json` is verdict.json.

    Attributes:
        reasons: why it is not valid, as sentences; empty if it is.
        faults: kind, targets, effective, healed of each fault.
        liveness, availability, latency, counts, audit: as in verdict.json.
        bounds: the times that the scenario expects to be bounded.
        drivers: the machines that ran clients, if the harness did not.
        exposure: what a power cut would have cost, if the disks were recorded; see `chaoskit.judge.exposure.measuring`.
        machine: what the harness's machine did during the load; None if nobody watched.
        replayable: whether `chaoskit replay` can repeat it; false for an imported history.
        tolerated: the settings that allow a loss, in words, of a run with faults; see
            `chaoskit.judge.verdict.tolerated`.
        problems: what else makes the run prove too little, such as a client that died; part of the reasons.
        ended: how often instances of the application ended by themselves during the load.
    """

    run: str
    scenario: str
    seed: int
    verdict: str
    reasons: tuple[str, ...]
    counts: Mapping[str, int]
    audit: Mapping[str, Any]
    anomalies: Mapping[str, Found]
    faults: tuple[Mapping[str, Any], ...]
    liveness: Mapping[str, Any]
    availability: Mapping[str, Any]
    latency: Mapping[str, Any]
    bounds: Mapping[str, Bounded] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    load_start_s: float = 0.0
    drivers: tuple[DriverTold, ...] = ()
    machine: Machine | None = None
    exposure: Mapping[str, Any] = field(default_factory=dict)
    replayable: bool = True
    tolerated: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    ended: tuple[EndedTold, ...] = ()

    @property
    def headline(self) -> str:
        """What happened, in one sentence."""
        missed = [name for name, bound in self.bounds.items() if bound.missed]
        idle = without_consequence(self.faults)
        unread = not self.audit["complete"] or any(
            self.anomalies[name].count for name in installed.gone(Gone.UNSEEN) if name in self.anomalies
        )
        doubts = self.problems
        if self.verdict == UNKNOWN and not unread:
            doubts = tuple(dict.fromkeys([*self.problems, *self.reasons]))
        return headline(
            self.counts["acked"],
            self.anomalies,
            # a history that is valid without a final read has shown every message to somebody
            complete=self.audit["complete"] or self.verdict == VALID,
            missed=missed,
            idle=idle,
            sends_per_s=self.rates.get("due_per_s") or self.rates.get("sends_per_s", 0.0),
            doubts=doubts,
            at_stake=max(
                (fault["at_stake"] for fault in self.faults if fault.get("at_stake") is not None), default=None
            ),
            invalid=self.verdict == INVALID,
        )

    @property
    def lost(self) -> int:
        """The number of acknowledged messages that were lost, or vanished before a consumer had settled them, or were
        dropped and are not among the dead letters; with those that were deleted for another reason than the declared
        retention."""
        return lost_messages(self.anomalies)

    def as_json(self) -> dict[str, Any]:
        """Return the content of verdict.json."""
        return {
            "run": self.run,
            "scenario": self.scenario,
            "seed": self.seed,
            "load_start_s": self.load_start_s,
            "verdict": self.verdict,
            "headline": self.headline,
            "reasons": list(self.reasons),
            "counts": dict(self.counts),
            "rates": dict(self.rates),
            "audit": dict(self.audit),
            "anomalies": {
                name: {
                    "count": anomaly.count,
                    **({} if anomaly.distinct == anomaly.count else {"messages": anomaly.distinct}),
                    **({"probes": anomaly.probes} if anomaly.probes else {}),
                    "allowed": anomaly.allowed,
                    "why": anomaly.why,
                    "remedy": anomaly.remedy,
                    **({"doubt": anomaly.doubt} if anomaly.doubt else {}),
                    "between_s": anomaly.between_s,
                    **({} if anomaly.lasted_ms is None else {"lasted_ms": anomaly.lasted_ms.as_json()}),
                    "explained": [dict(cause) for cause in anomaly.causes],
                    "examples": [dict(example) for example in anomaly.examples],
                }
                for name, anomaly in self.anomalies.items()
            },
            "faults": [dict(fault) for fault in self.faults],
            "liveness": dict(self.liveness),
            "availability": dict(self.availability),
            "latency": dict(self.latency),
            "bounds": {name: asdict(bound) for name, bound in self.bounds.items()},
            **({"tolerated": list(self.tolerated)} if self.tolerated else {}),
            **({"drivers": list(self.drivers)} if self.drivers else {}),
            **({"ended": list(self.ended)} if self.ended else {}),
            **({"machine": self.machine} if self.machine else {}),
            **({"exposure": dict(self.exposure)} if self.exposure else {}),
        }


def allow(
    name: str,
    count: int,
    derived: Allowance | None,
    expect: Mapping[str, Number],
    *,
    measured: bool = False,
    doubt: str = "",
) -> Allowance:
    """Return whether this number of findings is allowed. An expectation, if any, decides; otherwise what is derived
    from the guarantees. An anomaly that neither mentions is not allowed, unless it is `measured` or only a `doubt`."""
    if doubt:
        derived = Allowance(True, f"{doubt}, so the verdict is unknown")
    elif derived is None and measured:
        derived = Allowance(True, "a measurement: allowed, unless `expect` bounds it")
    elif derived is None:
        derived = Allowance(False, "no setting allows it")
    if name not in expect:
        return derived
    expected = expect[name]
    wanted = {"none": count == 0, "some": count > 0, "any": True}
    met = wanted[expected] if isinstance(expected, str) else count == expected
    return Allowance(met, f"expected {name}: {expected}; {derived.why}", derived.remedy)


def derive(causes: Sequence[tuple[Cause | None, int]], promise: Allowance | None, accept: Sequence[str]) -> Allowance:
    """Return whether findings are allowed, given what explains them.

    Args:
        causes: each cause with the number of findings that it explains; None: nothing explains them.
        promise: why the anomaly must not occur, if the guarantees mention it.
        accept: ids of the rules for known issues that are accepted.
    """
    unexplained = sum(count for cause, count in causes if cause is None)
    known = [cause for cause, _ in causes if cause is not None]
    if unexplained:
        why = promise.why if promise else "no setting allows it"
        if known:
            why = f"no rule explains {unexplained:,} of them: {why}"
        return Allowance(False, why)
    refused = next((cause for cause in known if cause.rule.known and cause.rule.id not in accept), None)
    chosen = refused or known[0]
    why = "; ".join(dict.fromkeys(cause.why for cause in ([refused] if refused else known)))
    if refused:
        why = f"known issue {refused.rule.id} ({refused.rule.known}): {why}"
    return Allowance(refused is None, why, chosen.rule.remedy, chosen.rule.id)


def describe_cause(cause: Cause, count: int) -> dict[str, Any]:
    """Return a cause as in verdict.json."""
    faults = [fault for fault in cause.story.faults if fault.number >= 0]
    return {
        "rule": cause.rule.id,
        "fault": faults[0].number if faults else None,
        "why": cause.why,
        "story": cause.story.words,
        "remedy": cause.rule.remedy,
        "known": cause.rule.known,
        "faults": [fault.number for fault in faults],
        "what": ", ".join(fault.aimed for fault in cause.story.faults),
        "count": count,
    }


def decide(
    anomalies: Mapping[str, Found],
    *,
    recovered: bool | None,
    why: str = "",
    audit_complete: bool,
    acked: int,
    why_not_acked: str = "",
    faults: tuple[Mapping[str, Any], ...],
    problems: tuple[str, ...] = (),
    behind: Sequence[str] = (),
    bounds: Mapping[str, Bounded] = MappingProxyType({}),
) -> tuple[str, tuple[str, ...]]:
    """Return the verdict and the reasons why it is not valid.

    An anomaly that was expected and not found is wrong only where nothing else is in doubt: a fault that had no effect,
    or that showed little for a known reason, shows no loss either.

    Args:
        anomalies: every anomaly that was found or expected.
        recovered: whether the cluster recovered within its bound; None if the run ended before.
        why: why it did not.
        audit_complete: whether the final read reached the end of every partition.
        acked: number of acknowledged sends of the load, without warm-up.
        why_not_acked: the error of most sends, if none was acknowledged.
        faults: the faults, with `effective` and `healed`.
        problems: other problems, such as a client that died.
        behind: partitions of which the group received no fresh message within the bound after healing.
        bounds: the times that have a bound.
    """
    forbidden = {name: anomaly for name, anomaly in anomalies.items() if not anomaly.allowed}
    wrong = [*_not_allowed(forbidden)]
    absent = [f"no {name} was found ({anomaly.why})" for name, anomaly in forbidden.items() if not anomaly.count]
    if recovered is False:
        wrong.insert(0, f"the cluster did not recover within the bound after healing{f': {why}' if why else ''}")
    if behind:
        where = ", ".join(behind[:_BEHIND_SHOWN]) + (", ..." if len(behind) > _BEHIND_SHOWN else "")
        wrong.append(f"the group received nothing new of {where} within the bound after healing")
    wrong += [f"{name} is {describe(bound)}" for name, bound in bounds.items() if bound.missed]
    if wrong:
        return INVALID, (*wrong, *absent, *problems)
    doubts = list(problems)
    if recovered is None:
        doubts.append("the run ended before the cluster's recovery was observed")
    if not audit_complete:
        doubts.append("the final read did not reach the end of every partition")
    doubts += _open(anomalies)
    doubts += [f"{name} is {describe(bound)}" for name, bound in bounds.items() if bound.unknown]
    if acked == 0:
        reason = f"; most sends ended with: {why_not_acked}" if why_not_acked else ""
        doubts.append(f"nothing was acknowledged during the load{reason}")
    doubts += [doubt for fault in faults for doubt in _doubts_of(fault)]
    if doubts:
        return UNKNOWN, (*absent, *doubts)
    return (INVALID, tuple(absent)) if absent else (VALID, ())


def _open(anomalies: Mapping[str, Found]) -> Iterator[str]:
    """Yield what could not be decided of anomalies that were found, and which expected ones were not looked for."""
    for name, anomaly in anomalies.items():
        if anomaly.doubt and anomaly.count:
            yield f"{anomaly.count:,} {name}: {anomaly.doubt}"
    for name, anomaly in anomalies.items():
        if anomaly.unrecorded:
            yield f"{name} was expected, but {anomaly.unrecorded}"


def _not_allowed(forbidden: Mapping[str, Found]) -> Iterator[str]:
    """Yield which anomalies are not allowed and why, a line a reason."""
    occurred = {name: anomaly for name, anomaly in forbidden.items() if anomaly.count}
    for why in dict.fromkeys(anomaly.why for anomaly in occurred.values()):
        counted = ", ".join(f"{anomaly.count:,} {name}" for name, anomaly in occurred.items() if anomaly.why == why)
        yield f"{counted}: not allowed ({why})"


def _doubts_of(fault: Mapping[str, Any]) -> Iterator[str]:
    """Yield why it is in doubt that a fault did what it had to."""
    if not fault["effective"]:
        yield f"{fault['kind']} had no effect: {fault['evidence']}"
    elif not fault["healed"]:
        yield f"{fault['kind']} was not confirmed healed"
    if (expected := fault.get("expected")) and not meets(fault["consequence"], expected):
        what = f"{fault['kind']} of {', '.join(fault['targets'])}"
        yield f"{what} was to have a consequence ({expected}); it had: {in_words(fault)}"
