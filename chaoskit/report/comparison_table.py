"""The table that compares runs at the end of `chaoskit run`: what differs, what it cost, what became of the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chaoskit.judge.faults.at_stake import nothing_at_stake
from chaoskit.judge.timing.machine import full
from chaoskit.judge.verdict.verdict import Verdict
from chaoskit.report.compared import differing
from chaoskit.report.words import PHASE_WORDS, milliseconds, number, p99, scalar

COLUMNS = (
    "settings", "sends/s", "quiet p50 / p99", "p99 under faults", "p99 after", "longest gap", "never acked", "acked",
    "lost", "duplicate", "verdict",
)  # fmt: skip
"""Latencies are from when a send was due; `> 7.0 s` says that more than one in a hundred took longer, or was not
acknowledged at all. `longest gap` is the longest time without an acknowledged send, `never acked` the number of those
due that were not acknowledged. `machine full` says that latencies are those of a machine without room. `?` says that
the number proves nothing: not all was read, or nothing was at stake."""

_TOLD_APART = ("name", "seed", "expect", "faults", "accept")
"""Keys that differ between runs of any two scenarios."""

_DIFFERENT_SHOWN = 4


def comparison_rows(scenarios: Sequence[Mapping[str, Any]], verdicts: Sequence[Verdict]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each run, as in COLUMNS.

    Args:
        scenarios: the resolved scenarios.
        verdicts: their verdicts.
    """
    rows = differing(scenarios, _TOLD_APART)
    for index, (scenario, verdict) in enumerate(zip(scenarios, verdicts, strict=True)):
        different = {row.name: row.values[index] for row in rows if row.values[index]}
        quiet, under, after = (verdict.latency.get(name, {}).get("send", {}) for name in PHASE_WORDS)
        doubt = "" if _proves(verdict) else "?"
        yield (
            f"{scenario['name']}: {_settings(scenario, different)}",
            f"{verdict.rates['sends_per_s']:,.0f}",
            f"{milliseconds(quiet.get('p50_ms'))} / {p99(quiet)}",
            p99(under),
            p99(after),
            milliseconds(verdict.availability.get("longest_unavailable_ms")),
            number(verdict.latency.get("send", {}).get("without")),
            f"{verdict.counts['acked']:,}",
            f"{verdict.lost:,}{doubt}",
            f"{_count(verdict, 'duplicate'):,}{doubt}",
            f"{verdict.verdict}: {_as_expected(scenario, verdict)}{_full(verdict)}",
        )


def _count(verdict: Verdict, name: str) -> int:
    return verdict.anomalies[name].count if name in verdict.anomalies else 0


def _proves(verdict: Verdict) -> bool:
    """Return whether that no more was found says something: all was read, and the faults could have taken something."""
    return bool(verdict.audit["complete"]) and not any(nothing_at_stake(verdict.faults))


def _full(verdict: Verdict) -> str:
    """Return that latencies are those of a machine without room, if they are."""
    return "; machine full" if verdict.machine is not None and any(full(verdict.machine)) else ""


def _settings(scenario: Mapping[str, Any], different: Mapping[str, str]) -> str:
    """Return the settings of brokers, topics and producers, and what else differs between the runs."""
    cluster, load = scenario["cluster"], scenario["workload"]
    given = dict(
        [*_named(cluster.get("config", {})), *_named(cluster.get("topic", {})), *_named(load.get("producer", {}))]
    )
    more = {name: value for name, value in different.items() if not any(name.endswith(f".{key}") for key in given)}
    given |= dict(list(more.items())[:_DIFFERENT_SHOWN])
    return ", ".join(f"{key}={value}" for key, value in given.items()) or "defaults"


def _named(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the settings of a mapping, which may have them by role, with their values as in YAML."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _named(value)
        else:
            yield key, scalar(value)


def _as_expected(scenario: Mapping[str, Any], verdict: Verdict) -> str:
    expect = scenario.get("expect", {})
    if not expect:
        return "as guaranteed" if verdict.verdict == "valid" else "see above"
    met = all(verdict.anomalies[name].allowed for name in expect if name in verdict.anomalies)
    met = met and all(bounded.met for bounded in verdict.bounds.values())
    return "as expected" if met else "NOT as expected"
