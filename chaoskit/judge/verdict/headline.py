"""What happened in a run, in one sentence, which begins with what became of the data: KEPT, LOST, GONE
(deleted or dropped by a limit) or UNKNOWN."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.contract import installed
from chaoskit.contract.checkers.anomaly import Gone
from chaoskit.model.operation import AUDITOR, SENDING

_NAMED = 2
_FORBIDDEN = "your settings forbid it"
_OTHERWISE_JUDGED = (Gone.NO, Gone.CUT, Gone.REPLACED)
"""What says nothing of messages that are lost, or leaves it to other anomalies."""
_TRAFFIC_MIN_S = 0.1
_FEW = 0.01
"""A smaller share of the messages that was at stake is told."""


class Counted(Protocol):
    """What was found of an anomaly, and what explains it."""

    @property
    def count(self) -> int: ...
    @property
    def allowed(self) -> bool: ...
    @property
    def causes(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def doubt(self) -> str:
        """What could not be decided of it; empty if it was."""

    @property
    def distinct(self) -> int:
        """Number of messages that the findings are about: several readers may lack one."""

    @property
    def probes(self) -> int:
        """Number of findings about messages that the final read sent."""


@dataclass(frozen=True, slots=True)
class StoredAnomaly:
    """An anomaly as in verdict.json."""

    count: int
    allowed: bool
    causes: Sequence[Mapping[str, Any]]
    messages: int | None = None
    doubt: str = ""
    probes: int = 0

    @classmethod
    def of(cls, anomaly: Mapping[str, Any]) -> StoredAnomaly:
        """Read one."""
        more = {name: anomaly[name] for name in ("messages", "doubt", "probes") if name in anomaly}
        return cls(anomaly["count"], anomaly["allowed"], anomaly["explained"], **more)

    @property
    def distinct(self) -> int:
        """Number of messages that the findings are about."""
        return self.count if self.messages is None else self.messages


class Missing(NamedTuple):
    """What the findings of an anomaly are about that tells what became of messages.

    Attributes:
        messages: number of messages of the load; None: the anomaly tells nothing of that.
        probes: number of findings about messages of the final read.
    """

    messages: int | None = None
    probes: int = 0


def missing_of(name: str, rows: pa.Table, operations: pa.Table) -> Missing:
    """Return what the findings of one anomaly are about.

    A message that several subscribers lack is one message. A finding without a value is about one of its own.

    Args:
        name: the anomaly.
        rows: its findings.
        operations: all operations, by which those are known that the final read sent.
    """
    if installed.anomalies()[name].gone in _OTHERWISE_JUDGED:
        return Missing()
    by = operations.select(["f", "client"]).take(rows["op"])
    sends = pc.is_in(by["f"].cast(pa.string()), value_set=pa.array(SENDING))
    probes = pc.fill_null(pc.and_(sends, pc.equal(by["client"].cast(pa.string()), AUDITOR)), False)
    known = rows.filter(pc.and_(pc.is_valid(rows["value"]), pc.invert(probes))).select(["topic", "value"])
    known = known.set_column(0, "topic", known["topic"].cast(pa.string()))
    distinct: int = known.group_by(["topic", "value"]).aggregate([]).num_rows
    return Missing(distinct + int(rows["value"].null_count), int(pc.sum(probes).as_py() or 0))


def lost_messages(anomalies: Mapping[str, Counted]) -> int:
    """Return how many acknowledged messages an application does not get, though no limit or retention explains that.

    One that is found under several anomalies of loss counts once. Of those that the system deleted by itself, those
    count that a fault explains or that nothing allows.
    """
    lost = max(_counts(anomalies, Gone.LOST), default=0) + sum(_counts(anomalies, Gone.VANISHED))
    for name in installed.gone(Gone.EXPIRED):
        if expired := anomalies.get(name):
            because = sum(cause["count"] for cause in expired.causes if cause["faults"])
            lost += because if expired.allowed else expired.count
    return lost


def _counts(anomalies: Mapping[str, Counted], kind: Gone) -> list[int]:
    return [anomalies[name].distinct for name in installed.gone(kind) if name in anomalies]


def headline(
    acked: int,
    anomalies: Mapping[str, Counted],
    *,
    complete: bool,
    missed: Sequence[str] = (),
    idle: str = "",
    sends_per_s: float = 0.0,
    doubts: Sequence[str] = (),
    at_stake: int | None = None,
    invalid: bool = False,
) -> str:
    """Return what happened, in one sentence. It agrees with the verdict: nothing is KEPT where there is a doubt, and
    where something is wrong, a doubt comes last.

    Args:
        acked: number of acknowledged sends.
        anomalies: what was found.
        complete: whether the final read reached the end of every partition.
        missed: names of the times that are not as expected.
        idle: see `without_consequence`.
        sends_per_s: by which losses are told in seconds of traffic, too; 0: it is not known.
        doubts: why the run proves too little, the most important one first.
        at_stake: how many messages the faults could have taken; None: not known, or there were none.
        invalid: whether the run is invalid.
    """
    more = [f"not as expected: {', '.join(missed)}"] if missed else []
    parts = _parts(acked, anomalies, complete, sends_per_s, doubts, at_stake, invalid)
    doubted = f"in doubt: {_first(doubts)}" if doubts and invalid and acked else ""
    return "; ".join(filter(None, [*parts, *more, idle, doubted]))


def without_consequence(faults: Sequence[Mapping[str, Any]]) -> str:
    """Return which of the faults of verdict.json changed nothing, or left their targets in sync, in words."""
    idle = [fault for fault in faults if fault.get("consequence") == {}]
    if len(idle) > _NAMED:
        all_of_them = len(idle) == len(faults)
        return (
            "no fault had a consequence" if all_of_them else f"{len(idle)} of {len(faults)} faults had no consequence"
        )
    named = [*idle, *(fault for fault in faults if _left_in_sync(fault))]
    return "; ".join(map(_idle, named)) if len(named) <= _NAMED else "; ".join(map(_idle, idle))


def _left_in_sync(fault: Mapping[str, Any]) -> bool:
    changed = fault.get("consequence") or {}
    more = {"membership", "found", "found_only", "lasted_ms"} & set(changed)
    return bool(changed and fault.get("stayed_in_sync")) and not more


def _idle(fault: Mapping[str, Any]) -> str:
    stayed = ", ".join(fault.get("stayed_in_sync", ()))
    what = f"{fault['kind']} of {', '.join(fault['targets'])}"
    if fault["consequence"]:
        return f"{stayed} stayed in sync under {fault['kind']}"
    return f"{what} had no consequence{f': {stayed} stayed in sync' if stayed else ''}"


def _parts(  # noqa: PLR0917 - see `headline`
    acked: int,
    anomalies: Mapping[str, Counted],
    complete: bool,
    sends_per_s: float,
    doubts: Sequence[str],
    at_stake: int | None,
    invalid: bool,
) -> Iterator[str]:
    if not acked:
        yield "UNKNOWN: nothing was acknowledged"
        yield from _beside(anomalies)
        return
    losses, unseen = _of_kinds(anomalies, Gone.LOST), sum(_counts(anomalies, Gone.UNSEEN))
    for _, counted in sorted(losses, key=lambda named: -named[1].count)[:1]:
        lasted_s = counted.distinct / sends_per_s if sends_per_s else 0.0
        lasted = f" ({lasted_s:,.1f} s of traffic)" if lasted_s >= _TRAFFIC_MIN_S else ""
        yield f"LOST {_of_acknowledged(counted, acked)}{lasted}, {_why(counted)}"
    gone = _of_kinds(anomalies, Gone.EXPIRED, Gone.DROPPED, Gone.VANISHED)
    for name, counted in gone:
        anomaly = installed.anomalies()[name]
        word = "LOST" if anomaly.gone is Gone.VANISHED else "GONE"
        by = "the application's promise forbids it" if anomaly.of_application else _FORBIDDEN
        yield f"{word} {_of_acknowledged(counted, acked)}, which {anomaly.became}, {_why(counted, by)}"
    if unseen:
        yield f"UNKNOWN: {unseen:,} of {acked:,} acknowledged messages were not read back, and may be lost"
    elif not complete:
        yield "UNKNOWN: the final read is incomplete"
    if doubts and not invalid:
        yield f"UNKNOWN: {_first(doubts)}"
    if not (losses or gone or unseen) and complete:
        yield f"none of {acked:,} acknowledged messages was found lost" if doubts else _kept(acked, anomalies, at_stake)
    yield from _beside(anomalies)


def _kept(acked: int, anomalies: Mapping[str, Counted], at_stake: int | None) -> str:
    few = at_stake is not None and at_stake < acked * _FEW
    replaced = sum(counted.count for _, counted in _of_kinds(anomalies, Gone.REPLACED))
    but = f", but for {replaced:,} that compaction may remove" if replaced else ""
    return f"KEPT all {acked:,} acknowledged messages{but}{f', of which {at_stake:,} were at stake' if few else ''}"


def _first(doubts: Sequence[str]) -> str:
    return f"{doubts[0]} (and {len(doubts) - 1} more)" if len(doubts) > 1 else doubts[0]


def _of_acknowledged(counted: Counted, acked: int) -> str:
    """Return how many messages are gone, of how many. There may be more than acknowledged ones: a message whose
    acknowledgement did not arrive can vanish, too."""
    missing, deliveries = counted.distinct, counted.count - counted.probes
    amount = f"{missing:,} of {acked:,} acknowledged messages"
    if missing > acked:
        amount = f"{missing:,} messages, of which at most {acked:,} were acknowledged"
    if missing != deliveries:
        amount += f" (for several readers: {deliveries:,} deliveries)"
    return f"{amount} and {counted.probes:,} probes of the final read" if counted.probes else amount


def _beside(anomalies: Mapping[str, Counted]) -> Iterator[str]:
    """Yield what else was found, or not."""
    gone = {name for name, anomaly in installed.anomalies().items() if anomaly.gone not in _OTHERWISE_JUDGED}
    wrong = [name for name, counted in anomalies.items() if not counted.allowed and counted.count and name not in gone]
    if wrong:
        yield f"not allowed: {', '.join(f'{anomalies[name].count:,} {name}' for name in wrong)}"
    notable = (name for name, anomaly in installed.anomalies().items() if anomaly.notable)
    for name in notable:
        if (noted := anomalies.get(name)) and noted.count and noted.allowed:
            yield f"{noted.count:,} {name}"
    if missed := [name for name, counted in anomalies.items() if not counted.allowed and not counted.count]:
        yield f"expected but not found: {', '.join(missed)}"


def _of_kinds(anomalies: Mapping[str, Counted], *kinds: Gone) -> list[tuple[str, Counted]]:
    return [(name, counted) for name in installed.gone(*kinds) if (counted := anomalies.get(name)) and counted.count]


def _why(counted: Counted, forbidden: str = _FORBIDDEN) -> str:
    explained = counted.causes and sum(cause["count"] for cause in counted.causes) >= counted.count
    if not counted.allowed and not explained:
        return f"though {forbidden}"
    if not counted.allowed:
        rules = ", ".join(dict.fromkeys(cause["rule"] for cause in counted.causes))
        if any(cause.get("known") for cause in counted.causes):
            return f"a known issue ({rules}) that you did not accept"
        return f"though you expected otherwise; your settings allow it ({rules})"
    if counted.doubt:
        return "and it is unknown whether your settings allow it"
    if not explained:
        return "as expected"
    by_rule: dict[str, dict[str, None]] = {}
    for cause in counted.causes:
        by_rule.setdefault(cause["rule"], {})[cause["what"]] = None
    parts = [f"{rule}: {_listed(list(what))}" if any(what) else rule for rule, what in by_rule.items()]
    return f"allowed by your settings ({'; '.join(parts)})"


def _listed(what: list[str]) -> str:
    more = len(what) - _NAMED
    return "; ".join(what[:_NAMED]) + (f" and {more} more" if more > 0 else "")
