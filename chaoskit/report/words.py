"""Formats numbers for reports and tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chaoskit.judge.faults.instances import EndedTold
from chaoskit.judge.timing.machine import Machine
from chaoskit.judge.timing.timing import PHASES

_TOLD_MIN_CORES = 0.01

PAID_WORDS = {"hit_producers": "of producers that faults hit", "other_producers": "of others meanwhile"}
"""What sends took meanwhile, by the names in verdict.json."""

PHASE_WORDS = dict(zip(PHASES, ("outside faults", "under faults", "after faults"), strict=True))
"""The phases of a run's load in words."""

PERCENTILE_WORDS = {"p50_ms": "p50", "p99_ms": "p99", "p999_ms": "p99.9", "p9999_ms": "p99.99", "max_ms": "max"}
"""The latencies of verdict.json in words."""

_EVIDENCE_MAX = 600


def number(value: float | None) -> str:
    """Return an integer with thousands separators; a dash for None.

    >>> number(1234567)
    '1,234,567'
    """
    return "-" if value is None else f"{value:,.0f}"


def milliseconds(value: float | None) -> str:
    """Return milliseconds with three significant digits and a unit.

    >>> milliseconds(0.4567), milliseconds(12.34), milliseconds(45678)
    ('0.457 ms', '12.3 ms', '45.7 s')
    """
    if value is None:
        return "-"
    seconds = value >= 10_000
    shown = value / 1000 if seconds else value
    digits = 3 if shown < 1 else 2 if shown < 10 else 1 if shown < 100 else 0
    return f"{shown:,.{digits}f} {'s' if seconds else 'ms'}"


def seconds_of(nanoseconds: float | None) -> str:
    """Return nanoseconds as seconds.

    >>> seconds_of(1_500_000_000)
    '1.500 s'
    """
    return "-" if nanoseconds is None else f"{nanoseconds / 1e9:,.3f} s"


def scalar(value: object) -> str:
    """Return the value of a setting as in YAML.

    >>> scalar(True), scalar(None), scalar(1)
    ('true', 'null', '1')
    """
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def release(scenario: Mapping[str, Any]) -> str:
    """Return the system that a scenario names, and its release.

    >>> release({"cluster": {"system": "mine", "version": "4.1"}}), release({"imported": {}})
    ('mine 4.1', 'imported')
    """
    cluster = scenario.get("cluster") or {}
    return f"{cluster.get('system', 'imported')} {cluster.get('version') or ''}".strip()


def shortened(evidence: str) -> str:
    """Return evidence, which is a list with semicolons, in at most about 600 characters.

    >>> shortened("; ".join(["n1: 1 byte"] * 100)).count("n1"), shortened("n1: gone")
    (50, 'n1: gone')
    """
    parts, length = evidence.split("; "), 0
    for shown, part in enumerate(parts):
        length += len(part) + 2
        if length > _EVIDENCE_MAX and shown:
            return f"{'; '.join(parts[:shown])}; and {len(parts) - shown} more in faults.parquet"
    return evidence


def slowest_in_words(slowest: Mapping[str, Any], faults: Sequence[Mapping[str, Any]]) -> str:
    """Return when the messages that made a p99 were due.

    >>> slowest = {"from_ms": 8000.0, "to_ms": 11000.0, "share": 0.97, "faults": [0]}
    >>> slowest_in_words(slowest, [{"kind": "pause", "targets": ["n1"]}])
    '97 % of the slowest 1 % were due between 8.0 s and 11.0 s, while pause of n1 held'
    """
    held = [f"{fault['kind']} of {', '.join(fault['targets'])}" for fault in (faults[n] for n in slowest["faults"])]
    when = f"between {slowest['from_ms'] / 1000:.1f} s and {slowest['to_ms'] / 1000:.1f} s"
    share = f"{slowest['share']:.0%}".replace("%", " %")
    while_held = f", while {' and '.join(dict.fromkeys(held))} held" if held else ", without a fault"
    return f"{share} of the slowest 1 % were due {when}{while_held}"


def ended_in_words(ended: Sequence[EndedTold]) -> Iterator[str]:
    """Yield how often each instance of the application ended by itself.

    >>> list(ended_in_words([{"instance": "application-0", "how": "status 1", "count": 2, "first_ms": 8050.0}]))
    ['application-0 ended by itself 2 times (status 1), first at 8.1 s']
    """
    for own in ended:
        times = f"{own['count']:,} times ({own['how']}), first" if own["count"] > 1 else f"({own['how']})"
        yield f"{own['instance']} ended by itself {times} at {own['first_ms'] / 1000:.1f} s"


def describe_machine(machine: Machine) -> str:
    """Return what the machine did, on one line."""
    clients = ", ".join(f"{name} {used:.2f}" for name, used in machine["clients"].items())
    used = f"{clients}, all else {machine['others']:.2f}" if clients else f"in use {machine['others']:.2f}"
    waiting = "".join(
        f", {words} {cores:.2f}"
        for cores, words in ((machine["iowait"], "waiting for disks"), (machine["steal"], "taken by the hypervisor"))
        if cores >= _TOLD_MIN_CORES
    )
    return (
        f"machine: {machine['cores']} cores: {used}{waiting}, idle {machine['idle']:.2f}; "
        f"timers fired at most {machine['late_ms']:.1f} ms late"
    )


def due_p99_ms(send: Mapping[str, Any]) -> float | None:
    """Return the 99th percentile of all sends that were due: one without an acknowledgement took at least as long as
    was waited for it."""
    acknowledged: float | None = send.get("p99_ms")
    every: float | None = (send.get("all_due") or {}).get("p99_ms")
    if not send.get("without") or every is None:
        return acknowledged
    return max(every, acknowledged or 0.0)


def p99(send: Mapping[str, Any]) -> str:
    """Return `due_p99_ms` in words.

    >>> p99({"p99_ms": 13.0, "without": 900, "all_due": {"p99_ms": 7000.0}}), p99({"p99_ms": 13.0}), p99({})
    ('> 7,000 ms', '13.0 ms', '-')
    """
    at_least_ms = due_p99_ms(send)
    more = "> " if at_least_ms is not None and at_least_ms > send.get("p99_ms", 0) else ""
    return f"{more}{milliseconds(at_least_ms)}"
