"""Runs from Python: what the `chaos` fixture hands to a test."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chaoskit.base import plugins
from chaoskit.base.errors import nearest
from chaoskit.contract.workload import Progress
from chaoskit.judge.verdict import VALID, Anomaly, Verdict
from chaoskit.report.summary import summary
from chaoskit.run.runner import run as execute
from chaoskit.scenario.model import Scenario, parse_scenario
from chaoskit.scenario.plan import make_plan

_NOT_FOUND = Anomaly(0, True, "none was found")


@dataclass(frozen=True, slots=True)
class Settings:
    """Where runs are kept, which seed they use (None: each draws one), whether hosts stay up."""

    store: Path
    seed: int | None = None
    keep: bool = False


class Anomalies(Mapping[str, Anomaly]):
    """What was found by name; a known name that was not found has count 0, an unknown one is a KeyError."""

    def __init__(self, found: Mapping[str, Anomaly]) -> None:
        self._found = found

    def __getitem__(self, name: str) -> Anomaly:
        if name not in plugins.anomalies():
            raise KeyError(f"no checker knows the anomaly {name!r}; {nearest(name, plugins.anomalies())}")
        return self._found.get(name, _NOT_FOUND)

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: its folder and its verdict."""

    folder: Path
    verdict: Verdict

    @property
    def anomalies(self) -> Anomalies:
        """What was found, by name."""
        return Anomalies(self.verdict.anomalies)

    @property
    def summary(self) -> str:
        """The run in words, with evidence, seed, folder and the command that replays it."""
        return summary(self.verdict, self.folder)

    def assert_valid(self) -> None:
        """Fail unless the verdict is valid.

        Raises:
            AssertionError: with the summary.
        """
        __tracebackhide__ = True
        if self.verdict.verdict != VALID:
            raise AssertionError(f"the run is {self.verdict.verdict}: {self.verdict.reasons[0]}\n{self.summary}")


class ChaosSession:
    """Runs scenarios for one test.

    Args:
        settings: from the command line of pytest, or your own.
        name: of runs that have no name.
        source: named in errors about scenarios.
    """

    def __init__(self, settings: Settings, name: str, source: str) -> None:
        self._settings = settings
        self._name = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")
        self._source = source
        self.runs: list[Run] = []

    def __call__(
        self,
        *,
        cluster: Mapping[str, Any],
        workload: Mapping[str, Any],
        faults: Sequence[Mapping[str, Any]] = (),
        expect: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Run:
        """Run a scenario, its keys as in YAML.

        Raises:
            BadInput: the scenario or the machine does not allow it; nothing was started.
            RunFailed: the run broke; the message names the run folder.
        """
        content = {
            "name": self._name,
            "cluster": cluster,
            "workload": workload,
            "faults": list(faults),
            **more,
        }
        return self.run_scenario(parse_scenario({**content, "expect": expect or {}}, self._source), self._source)

    def run_scenario(self, scenario: Scenario, source: str) -> Run:
        """Run a scenario that was parsed already; raises as `__call__` does."""
        plan = make_plan(scenario, source, self._settings.seed)
        folder, verdict = execute(plan, self._settings.store, _Lines(), keep=self._settings.keep)
        self.runs.append(Run(folder, verdict))
        return self.runs[-1]


class _Lines:
    """Tells progress in lines on stderr, which pytest shows when the test fails."""

    def phase(self, name: str) -> None:
        sys.stderr.write(f"{name}\n")

    def tell(self, line: str) -> None:
        sys.stderr.write(f"{line}\n")

    def tick(self, elapsed_s: float, progress: Progress, active: list[str]) -> None:
        """Nothing: a captured log needs no live line."""
