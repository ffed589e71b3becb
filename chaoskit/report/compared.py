"""Runs beside each other: what differs in their scenarios, and what each of them did, lost and cost."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaoskit.base import store
from chaoskit.base.errors import BadInput
from chaoskit.judge.subject.subject import DeclaredSettings
from chaoskit.judge.timing.machine import full
from chaoskit.judge.verdict.headline import without_consequence
from chaoskit.judge.verdict.verdict_file import read_verdict
from chaoskit.report.words import PERCENTILE_WORDS, PHASE_WORDS, milliseconds, number, p99, release, scalar

_NAMES = ("seed", "name")
"""Keys that say which run it is."""

_LETTERS = 26


@dataclass(frozen=True, slots=True)
class Compared:
    """A judged run.

    Attributes:
        name: scenario and folder.
        folder: the run folder.
        scenario: its resolved scenario.
        verdict: its verdict.json.
    """

    name: str
    folder: Path
    scenario: Mapping[str, Any]
    verdict: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ComparedRow:
    """One figure of all runs.

    Attributes:
        name: what it is.
        values: one text for each run.
        differs: whether they are not all equal.
    """

    name: str
    values: tuple[str, ...]

    @property
    def differs(self) -> bool:
        return len(set(self.values)) > 1


def read_compared(given: Sequence[Path]) -> list[Compared]:
    """Read runs: run folders, or stores and their folders of a scenario, which stand for all their judged runs.

    Raises:
        BadInput: there are fewer than two, one is given twice, or one is damaged.
    """
    folders = [folder for path in given for folder in _folders(path)]
    if again := sorted({str(folder) for folder in folders if folders.count(folder) > 1}):
        raise BadInput(f"{again[0]}: is given twice; remove one of them")
    if len(folders) < 2:
        raise BadInput(
            "a comparison needs at least two judged runs; name more, or a store, or the folder of a scenario in it"
        )
    return [
        Compared(
            store.run_name(folder),
            folder,
            store.read_yaml(folder / store.SCENARIO, DeclaredSettings),
            read_verdict(folder),
        )
        for folder in folders
    ]


def _folders(given: Path) -> list[Path]:
    if (given / store.SCENARIO).exists():
        return [given.resolve()]
    for runs in ("*", "*/*"):
        folders = [path.parent for path in given.glob(f"{runs}/{store.VERDICT}") if not path.parent.is_symlink()]
        if folders:
            return sorted((folder.resolve() for folder in folders), key=lambda folder: folder.name)
    return [store.find_run(given)]


def differences(runs: Sequence[Compared]) -> list[ComparedRow]:
    """Return the keys of the scenarios that differ, with their values; empty if all did the same."""
    return differing([run.scenario for run in runs], _NAMES)


def differing(scenarios: Sequence[Mapping[str, Any]], without: Collection[str]) -> list[ComparedRow]:
    """Return the keys in which scenarios differ, with their values; without some keys and what is below them."""
    every = [dict(_flat({key: scenario[key] for key in scenario if key not in without})) for scenario in scenarios]
    names = dict.fromkeys(name for flat in every for name in flat)
    rows = [ComparedRow(name, tuple(flat.get(name, "") for flat in every)) for name in names]
    return [row for row in rows if row.differs]


def sorted_differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return what differs between the scenarios of two runs, shortest first, in words.

    >>> sorted_differences({"cluster": {"hosts": 3}, "seed": 1}, {"cluster": {"hosts": 1}, "seed": 2})
    ['cluster.hosts: 3 → 1']
    """
    rows = differing([before, now], _NAMES)
    return sorted((f"{row.name}: {' → '.join(value or 'unset' for value in row.values)}" for row in rows), key=len)


def letter(index: int) -> str:
    """Return what a run is called in tables: A, B, ..., Z, and numbers beyond.

    >>> letter(0), letter(25), letter(26)
    ('A', 'Z', '27')
    """
    return chr(ord("A") + index) if index < _LETTERS else str(index + 1)


def labels(runs: Sequence[Compared]) -> list[str]:
    """Return what runs are called in legends: their letter, and by what they differ."""
    names = [str(run.scenario.get("name", "")) for run in runs]
    if len(set(names)) == 1 and (differ := differences(runs)):
        first = min(differ, key=lambda row: len(row.name))
        names = [f"{first.name.partition('.')[2] or first.name}={value or 'unset'}" for value in first.values]
    return [f"{letter(index)} {name}".strip() for index, name in enumerate(names)]


def figures(runs: Sequence[Compared]) -> dict[str, list[ComparedRow]]:
    """Return rows under their titles: first what differs in the scenarios, then what the runs did and cost."""

    def rows(**getters: Any) -> list[ComparedRow]:
        return [
            ComparedRow(name.replace("_", " "), tuple(get(run.verdict) for run in runs))
            for name, get in getters.items()
        ]

    anomalies = list(
        dict.fromkeys(name for run in runs for name, anomaly in run.verdict["anomalies"].items() if anomaly["count"])
    )
    idle = ComparedRow("less than intended", tuple(without_consequence(run.verdict["faults"]) for run in runs))
    tables = {
        "system": [ComparedRow("system and release", tuple(release(run.scenario) for run in runs))],
        "what happened": [
            *rows(
                data=lambda v: v["headline"].partition(";")[0],
                verdict=lambda v: v["verdict"].upper(),
                faults=lambda v: ", ".join(dict.fromkeys(fault["kind"] for fault in v["faults"])) or "none",
                sent=lambda v: number(v["counts"]["sent"]),
                acknowledged=lambda v: number(v["counts"]["acked"]),
                failed=lambda v: number(v["counts"]["failed"]),
                unknown=lambda v: number(v["counts"]["indeterminate"]),
            ),
            *([idle] if any(idle.values) else []),
        ],
        "anomalies": [ComparedRow(name, tuple(_anomaly(run.verdict, name) for run in runs)) for name in anomalies],
        "throughput": rows(
            sends_per_s=lambda v: number(v["rates"].get("sends_per_s")),
            acknowledged_per_s=lambda v: number(v["rates"].get("acks_per_s")),
            longest_time_without_an_acknowledgement=lambda v: milliseconds(
                v["availability"].get("longest_unavailable_ms")
            ),
            never_acknowledged=lambda v: number(v["latency"].get("send", {}).get("without")),
            longest_silence_of_a_reader=lambda v: milliseconds(v["availability"].get("unheard_ms")),
            machine=lambda v: (
                "full: latencies may not be the system's" if v.get("machine") and any(full(v["machine"])) else ""
            ),
        ),
    }
    phases = {"": "all of the load", **PHASE_WORDS}
    for phase, words in phases.items():
        points = [(run.verdict["latency"].get(phase, {}) if phase else run.verdict["latency"]) for run in runs]
        sends = [point.get("send", {}) for point in points]
        due = ComparedRow(
            "p99 of all sends that were due", tuple(p99(send) if send.get("without") else "" for send in sends)
        )
        tables[f"latency of acknowledged sends, {words}"] = [*_latencies(sends), *([due] if any(due.values) else [])]
    tables["end-to-end latency"] = _latencies([run.verdict["latency"].get("end_to_end", {}) for run in runs])
    kept = {title: table for title, table in tables.items() if any(any(row.values) for row in table)}
    return {"what differs in their scenarios": differences(runs), **kept}


def document(runs: Sequence[Compared]) -> dict[str, Any]:
    """Return the comparison for `--json`."""
    names = [run.name for run in runs]
    return {
        "runs": [
            {
                "run": run.name,
                "folder": str(run.folder),
                **{key: run.verdict[key] for key in ("verdict", "counts", "rates", "availability", "latency")},
                "anomalies": {
                    name: {"count": anomaly["count"], "allowed": anomaly["allowed"]}
                    for name, anomaly in run.verdict["anomalies"].items()
                },
            }
            for run in runs
        ],
        "differs": {row.name: dict(zip(names, row.values, strict=True)) for row in differences(runs)},
    }


def _latencies(points: Sequence[Mapping[str, Any]]) -> list[ComparedRow]:
    rows = [
        ComparedRow(name, tuple(milliseconds(point[key]) if point.get(key) is not None else "" for point in points))
        for key, name in PERCENTILE_WORDS.items()
    ]
    return [row for row in rows if any(row.values)]


def _anomaly(verdict: Mapping[str, Any], name: str) -> str:
    anomaly = verdict["anomalies"].get(name, {"count": 0, "allowed": True})
    return number(anomaly["count"]) + ("" if anomaly["allowed"] else ", NOT allowed")


def _flat(content: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(content, Mapping) and content:
        for key, value in content.items():
            yield from _flat(value, f"{prefix}{key}.")
    elif isinstance(content, list) and any(isinstance(entry, Mapping) for entry in content):
        for index, value in enumerate(content):
            yield from _flat(value, f"{prefix}{index}.")
    elif isinstance(content, list):
        yield prefix[:-1], ", ".join(map(scalar, content))
    elif not isinstance(content, Mapping):
        yield prefix[:-1], scalar(content)
