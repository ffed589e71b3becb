"""A verdict as text: the load and faults, the anomalies, and the settings that allowed them."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskit.base.plain import one_line, plain
from chaoskit.base.quantities import SECOND
from chaoskit.history.compacting.drivers import DriverTold
from chaoskit.judge.faults.consequence_words import in_words, staked
from chaoskit.judge.verdict.bounds import describe
from chaoskit.judge.verdict.verdict import VALID, Found, Verdict
from chaoskit.model.message import PRODUCER_SHIFT
from chaoskit.report.figures import exposed
from chaoskit.report.following import in_order
from chaoskit.report.last_valid import since_last_valid
from chaoskit.report.printed import printed_lines
from chaoskit.report.words import (
    PAID_WORDS,
    PHASE_WORDS,
    describe_machine,
    ended_in_words,
    shortened,
    slowest_in_words,
)

_EXAMPLES_SHOWN = 2
_ENDS_SHOWN = 16
_FAULTS_SHOWN = 8
"""At most so many faults are told one by one; of more, equal ones are one line."""

_PARTITIONS_SHOWN = 3

_WALL_OFF_S = 1
_AT_ONCE_MS = 50
"""An acknowledgement this soon after the undoing of a fault began is not due to it: the system served already."""


def summary(verdict: Verdict, folder: Path) -> str:
    """Return the summary of one run as plain text; what systems said is escaped, and stays on its line."""
    verdict = plain(verdict)
    return "\n".join(
        [
            *_done(verdict),
            "",
            *_anomaly_lines(verdict, folder),
            "",
            *_measured(verdict),
            "",
            *_conclusion(verdict, folder),
        ]
    )


def describe_anomaly(name: str, anomaly: Found, *, complete: bool = True) -> list[str]:
    """Return the findings of one anomaly, why it is or is not allowed, and examples to trace by hand.

    Args:
        name: its name.
        anomaly: what was found of it.
        complete: whether the final read was complete; otherwise nothing found proves nothing.
    """
    if anomaly.count == 0:
        return [f"  {name}: none{' found' if not complete else ''}, {_met(anomaly, complete)}"]
    mark = "allowed" if anomaly.allowed else "NOT ALLOWED"
    between = ""
    if anomaly.between_s:
        between = f", between {anomaly.between_s[0]:.3f} s and {anomaly.between_s[1]:.3f} s"
    lines = [f"  {name}: {anomaly.count:,}  {mark}{between}", *_lasted(anomaly)]
    lines += [f"    {_cause(cause)}" for cause in anomaly.causes]
    lines.append(f"    why: {anomaly.why}")
    if anomaly.remedy:
        lines.append(f"    to prevent it: {anomaly.remedy}")
    lines += [f"    for example: {describe_example(example)}" for example in anomaly.examples[:_EXAMPLES_SHOWN]]
    return lines


def _lasted(anomaly: Found) -> Iterator[str]:
    """Yield how long the findings lasted, by detail; nothing if they do not last."""
    for detail, lasted in anomaly.lasted_ms.by_detail.items() if anomaly.lasted_ms else ():
        yield f"    {lasted.count:,} {detail}: {lasted.p50:,.0f} ms in the median, {lasted.max:,.0f} ms at most"


def _met(anomaly: Found, complete: bool) -> str:
    if anomaly.unrecorded:
        return f"but {anomaly.unrecorded}"
    if not anomaly.allowed:
        return "NOT as expected"
    return "as expected" if complete else "but the final read is incomplete"


def _cause(cause: Mapping[str, Any]) -> str:
    by = cause["what"] or "settings alone"
    counted = f"{cause['count']:,} by {by} ({'known issue' if cause['known'] else 'rule'} {cause['rule']})"
    story = f"{counted}: {cause['story']}" if cause.get("story") else counted
    return f"{story}; {cause['chain']}" if cause.get("chain") else story


def describe_example(example: Mapping[str, Any]) -> str:
    """Return one finding in words."""
    where = f"{example['topic']}/{example['partition']}"
    this = _side(example, "")
    other = _side(example, "other_")
    parts = [f"{where}: {this}"]
    if "lasted_ms" in example:
        lasted = f"{where} for {example['lasted_ms']:,.0f} ms from {example['since_ns'] / SECOND:.3f} s"
        ends = [*([f"after {other}"] if other else []), *([f"until {this}"] if this else [])]
        parts = [f"{lasted}: {'; '.join(ends)}"]
    elif "other_position" in example and not example.keys() & {"other_op", "other_value"}:
        parts.append(f"the log ends at {_position(example, 'other_position')}")
    elif other:
        parts.append(f"conflicts with {other}")
    if "detail" in example:
        parts.append(str(example["detail"]))
    return "; ".join(parts)


def _done(verdict: Verdict) -> list[str]:
    counts = verdict.counts
    began = f"; the load began at {verdict.load_start_s:.1f} s" if verdict.load_start_s else ""
    lines = [
        *head(verdict),
        "",
        "What was done",
        f"  load: {counts['sent']:,} sent at {verdict.rates['sends_per_s']:,.0f}/s: {counts['acked']:,} acknowledged, "
        f"{counts['failed']:,} failed, {counts['indeterminate']:,} unknown{_never_made(counts)}; "
        f"{counts['received']:,} received, probes of the final read included",
        f"  times are relative to the start of the run{began}",
    ]
    lines += [_driver(driver) for driver in verdict.drivers]
    lines += [f"  application: {words}" for words in ended_in_words(verdict.ended)]
    for equal in _equal_faults(verdict.faults):
        lines += _fault(equal[0]) if len(equal) == 1 else _faults(equal)
    if held_s := verdict.liveness.get("load_held_s"):
        lines.append(f"  the load lasted {held_s:.1f} s longer, for faults that were due but not yet in effect")
    if dropped := verdict.liveness.get("dropped_faults"):
        lines.append(f"  {dropped:,} faults were dropped: the load ended before their turn")
    last = verdict.audit.get("last_positions", {})
    partition_ends = [
        f"{where} ends after {last[where]}" if where in last else f"{where} ends at {end:,}"
        for where, end in verdict.audit["end_positions"].items()
    ]
    more = [f"and {len(partition_ends) - _ENDS_SHOWN:,} more"] if len(partition_ends) > _ENDS_SHOWN else []
    ends = ", ".join([*partition_ends[:_ENDS_SHOWN], *more])
    lines.append(
        f"  final read: {'complete' if verdict.audit['complete'] else 'INCOMPLETE'}{': ' if ends else ''}{ends}"
    )
    lines += [f"    {line}" for line in _unread(verdict.audit.get("unread", {}))]
    recovered = verdict.liveness.get("recovered")
    if recovered is not None:
        took_s, bound_s = verdict.liveness["took_s"], verdict.liveness["bound_s"]
        word = "recovered" if recovered else "did NOT recover within"
        lines.append(f"  cluster: {word} {took_s:.1f} s after healing (bound {bound_s:.0f} s)")
    if group := verdict.liveness.get("group"):
        behind = f"received nothing new of {', '.join(group['behind'])}" if group["behind"] else "received new messages"
        lines.append(f"  consumer group: {behind}, {group['took_s']:.1f} s after the final read")
    return lines


def head(verdict: Verdict) -> tuple[str, str]:
    """Return what became of the data, and the verdict."""
    line = f"{verdict.verdict.upper()}{_in_spite(verdict)}  {verdict.run}  seed {verdict.seed}"
    return verdict.headline[0].upper() + verdict.headline[1:], line


def _driver(driver: DriverTold) -> str:
    wall = driver["wall_ahead_s"]
    wrong = f"; its wall clock is {wall:+.3f} s off" if abs(wall) > _WALL_OFF_S else ""
    return (
        f"  {', '.join(driver['clients'])} ran on {driver['driver']}, whose clock is {driver['ahead_s']:+.3f} s from "
        f"the harness's (corrected, ± {driver['uncertainty_ms']:.1f} ms){wrong}"
    )


def _in_spite(verdict: Verdict) -> str:
    """Return why a run is valid although messages were lost."""
    return " (the loss is allowed)" if verdict.verdict == VALID and verdict.lost else ""


def _equal_faults(faults: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """Return the faults in groups of the same kind, targets and outcome, if there are many; else each alone."""
    if len(faults) <= _FAULTS_SHOWN:
        return [[fault] for fault in faults]
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for fault in faults:
        key = (fault["kind"], tuple(fault["targets"]), fault["effective"], fault["healed"])
        groups.setdefault(key, []).append(fault)
    return list(groups.values())


def _fault(fault: Mapping[str, Any]) -> list[str]:
    healed = f"healed at {fault['healed_at_ms'] / 1000:.1f} s" if fault["healed"] else "NOT healed"
    if (undone_ms := fault.get("undone_at_ms")) is not None:
        healed = f"undone from {undone_ms / 1000:.1f} s, {healed}"
    late = f" ({fault['late_ms'] / 1000:.1f} s late)" if fault.get("late_ms") else ""
    lines = [f"  fault: {hit(fault)} at {fault['at_ms'] / 1000:.1f} s{late}, {healed}{_effect(fault)}"]
    lines.append(f"    evidence: {shortened(fault['evidence'])}")
    if fault["effective"]:
        lines.append(f"    consequence: {in_words(fault)}")
        lines += [f"    {staked(fault)}"] if staked(fault) else []
    if fault.get("unavailable_ms") is not None:
        where = f" to {fault['unavailable_in']}" if fault.get("unavailable_in") else ""
        gap = f"at most {fault['unavailable_ms']:,.0f} ms without an acknowledged send{where}"
        lines.append(f"    {gap}{_recovered(fault)}")
    if fault.get("unheard_ms"):
        lines.append(f"    {silence(fault)}, from {fault['unheard_by']['from_s']:.1f} s")
    return lines


def _faults(equal: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return several equal faults in one line, with the evidence of the first and the longest outage of all."""
    first, last = equal[0]["at_ms"] / 1000, equal[-1]["at_ms"] / 1000
    healed = "all healed" if equal[0]["healed"] else "NOT healed"
    lines = [f"  {len(equal)} faults: {hit(equal[0])} from {first:.1f} s to {last:.1f} s, {healed}{_effect(equal[0])}"]
    lines.append(f"    evidence of the first: {shortened(equal[0]['evidence'])}")
    if gaps := [fault["unavailable_ms"] for fault in equal if fault.get("unavailable_ms") is not None]:
        lines.append(f"    at most {max(gaps):,.0f} ms without an acknowledged send")
    return lines


def hit(fault: Mapping[str, Any]) -> str:
    """Return the kind of a fault, and on what."""
    where = ", ".join(fault["targets"]) or ("hosts that are not named" if fault["effective"] else "nothing")
    return f"{fault['kind']} on {where}"


def _effect(fault: Mapping[str, Any]) -> str:
    return "" if fault["effective"] else "  NO EFFECT"


def _unread(unread: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for where, bounds in list(unread.items())[:_ENDS_SHOWN]:
        if bounds.get("from") is None:
            yield f"{where} was not read"
        elif "ends_after" in bounds:
            after = f" after {bounds['read_to']}" if bounds["read_to"] else ""
            yield f"{where} was not read{after}; it ends after {bounds['ends_after']}"
        else:
            yield f"{where} was not read from position {bounds['from']:,} to {bounds['to']:,}"


def _anomaly_lines(verdict: Verdict, folder: Path) -> list[str]:
    lines = ["What was found"]
    for name, follows in in_order(verdict.anomalies):
        described = describe_anomaly(name, verdict.anomalies[name], complete=verdict.audit["complete"])
        new = [line for line in described if line.startswith("    for example") or line not in lines]
        lines += [f"    {line}" for line in ["  and so:", *new]] if follows else new
        for example in verdict.anomalies[name].examples[:1]:
            lines += printed_lines(folder, name, example)
    return lines if len(lines) > 1 else [*lines, "  no anomaly"]


def _never_made(counts: Mapping[str, int | None]) -> str:
    return f", {counts['never_made']:,} due and never made" if counts.get("never_made") else ""


def _recovered(availability: Mapping[str, Any]) -> str:
    """Return in words when sends were acknowledged again, of a run, a partition or a fault."""
    after_ms, undoing_ms = availability["recovered_after_heal_ms"], availability.get("recovered_after_undoing_ms")
    times = [
        f"{recovered_ms:,.0f} ms after {what}"
        for recovered_ms, what in ((after_ms, "healing"), (undoing_ms, "the undoing began"))
        if recovered_ms is not None
    ]
    if not times:
        return ""
    if undoing_ms is not None and undoing_ms < _AT_ONCE_MS and not availability.get("not_recovered"):
        return "; sends were acknowledged again before healing began"
    if availability.get("not_recovered") or not availability.get("recovered", True):
        return f"; no send was acknowledged again, though some were due or open until {', '.join(times)}"
    return f"; the next one {', '.join(times)}"


def _measured(verdict: Verdict) -> list[str]:
    lines = ["What it cost"]
    for name in ("send", "send_from_actual", "end_to_end", "late"):
        point = verdict.latency.get(name, {})
        lines += _latency("late, after its delay" if name == "late" else name.replace("_", " "), point)
        lines += [f"    {slowest_in_words(point['slowest'], verdict.faults)}"] if "slowest" in point else []
    if verdict.faults:
        for name, words in PHASE_WORDS.items():
            lines += _latency(f"send {words}", verdict.latency.get(name, {}).get("send", {}))
        for name, words in PAID_WORDS.items():
            lines += _latency(f"send {words}", verdict.latency.get(name, {}))
    lines += [f"  {describe_machine(verdict.machine)}"] if verdict.machine else []
    availability = verdict.availability
    partitions = availability.get("partitions", ())
    longest = f"longest time without an acknowledged send: {availability['longest_unavailable_ms']:,.0f} ms"
    worst = f" to {partitions[0]['partition']}, the worst partition" if len(partitions) > 1 else ""
    lines.append(f"  {longest}{worst}{_recovered(availability)}")
    if len(partitions) > 1:
        lines += [
            f"    {partition['partition']}: {partition['longest_unavailable_ms']:,.0f} ms "
            f"from {partition['from_s']:.1f} s{_recovered(partition)}"
            for partition in partitions[:_PARTITIONS_SHOWN]
        ]
    if availability.get("unheard_ms") is not None:
        lines.append(f"  {silence(availability)}{_heard(availability)}")
    lines += [f"  {name}: {describe(bounded)}" for name, bounded in verdict.bounds.items()]
    if verdict.exposure:
        lines += ["", "What a power cut would have cost", *(f"  {line}" for line in exposed.in_words(verdict.exposure))]
    return lines


def silence(availability: Mapping[str, Any]) -> str:
    """Return the longest silence of a reader in words, of an availability that has one."""
    by = availability["unheard_by"]
    lasted = f"{availability['unheard_ms']:,.0f} ms at most"
    return f"{by['reader'] or 'the readers'} received nothing of {by['partition']} for {lasted}"


def _heard(availability: Mapping[str, Any]) -> str:
    after_ms = availability.get("heard_after_heal_ms")
    if after_ms is None:
        return ""
    deaf = availability["not_heard"]
    if deaf:
        readers = f"{deaf} reader{'s' if deaf > 1 else ''}"
        return f"; {readers} received nothing from healing until the load ended, {after_ms:,.0f} ms"
    return f"; every reader received something {after_ms:,.0f} ms after healing"


def _latency(name: str, point: Mapping[str, Any]) -> list[str]:
    if not point:
        return []
    unsure = f"  (± {point['uncertainty_ms']:.1f} ms: two clocks)" if "uncertainty_ms" in point else ""
    lines = [f"  {name}: {_percentiles(point)}{unsure}"]
    if without := point.get("without"):
        whole = point.get("all_due")
        counted = f"; with these, until given up: {_percentiles(whole)}" if whole else ""
        lines.append(f"    {without:,} sends have no such latency{counted}")
    return lines


def _percentiles(point: Mapping[str, Any]) -> str:
    if "p50_ms" not in point:
        return "none"
    return (
        f"p50 {point['p50_ms']:.1f} ms, p99 {point['p99_ms']:.1f} ms, "
        f"p99.9 {point['p999_ms']:.1f} ms, max {point['max_ms']:.1f} ms"
    )


def _conclusion(verdict: Verdict, folder: Path) -> list[str]:
    lines = [f"Verdict: {verdict.verdict}"]
    lines += [f"  {reason}" for reason in verdict.reasons]
    lines.append(f"  run folder: {one_line(str(folder))}")
    if verdict.verdict != VALID and (since := since_last_valid(folder, program())) is not None:
        lines += [f"  differs from {since.differs}", f"  to compare: {one_line(since.command)}"]
    if verdict.replayable:
        lines.append(f"  to repeat it: {replay_command(folder)}")
        lines.append(f"  to try another setting: {program()} run {one_line(shlex.quote(str(folder)))} --with KEY=VALUE")
    return lines


def replay_command(folder: Path) -> str:
    """Return the command that repeats a run."""
    return one_line(shlex.join([program(), "replay", str(folder)]))


def program() -> str:
    """Return the path of the program."""
    return f"{sys.prefix}/bin/chaoskit"


def _side(example: Mapping[str, Any], prefix: str) -> str:
    parts = []
    if f"{prefix}value_id" in example:
        parts.append(f"message {one_line(example[f'{prefix}value_id'])}")
    elif f"{prefix}value" in example:
        value = example[f"{prefix}value"]
        parts.append(f"message {value & ((1 << PRODUCER_SHIFT) - 1):,} of producer {value >> PRODUCER_SHIFT}")
    if f"{prefix}position" in example:
        parts.append(f"position {_position(example, f'{prefix}position')}")
    if f"{prefix}operation" in example:
        parts.append(f"op {example[f'{prefix}op']} ({example[f'{prefix}operation']})")
    return ", ".join(parts)


def _position(example: Mapping[str, Any], key: str) -> str:
    """Return a position in the system's own notation, or else as a number."""
    return str(example.get(f"{key}_text") or f"{example[key]:,}")
