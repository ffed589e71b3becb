"""How each scenario that ran several times stands: its last verdict, since when, and what differs from the last run
that was valid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chaoskit.judge.verdict.verdict import VALID
from chaoskit.report.compared import sorted_differences

_DIFFERENCES_SHOWN = 6


@dataclass(frozen=True, slots=True)
class ScenarioStanding:
    """How a scenario stands.

    Attributes:
        scenario: its name.
        runs: rows of trends, oldest first.
        first_bad: of a scenario whose last run is not valid, the first run after the last valid one; else None.
        last_good: the last valid run; None if there is none.
        differs: what differs between the scenarios of these two runs, in words; of one that is valid again, between its
            last run that was not and the next one.
        last_bad: of a scenario that is valid again, its last run that was not; else None.
    """

    scenario: str
    runs: Sequence[Mapping[str, Any]]
    first_bad: Mapping[str, Any] | None
    last_good: Mapping[str, Any] | None
    differs: Sequence[str]
    last_bad: Mapping[str, Any] | None = None

    @property
    def latest(self) -> Mapping[str, Any]:
        """The last run."""
        return self.runs[-1]

    @property
    def difference(self) -> str:
        """What differs, in one line."""
        return "; ".join(self.differs) or "nothing in the scenario"

    @property
    def bad_runs(self) -> int:
        """How many runs there are from the first bad one on."""
        return 0 if self.first_bad is None else len(self.runs) - list(self.runs).index(self.first_bad)


def standings(
    trends: Sequence[Mapping[str, Any]], scenarios: Mapping[str, Mapping[str, Any]]
) -> list[ScenarioStanding]:
    """Return how scenarios stand that ran several times: those whose last run is not valid first.

    Args:
        trends: rows of trends, by scenario and time.
        scenarios: the resolved scenario of each run.
    """
    known = list(_standings(trends, scenarios))
    return sorted(known, key=lambda standing: (standing.first_bad is None, standing.scenario))


def _standings(
    trends: Sequence[Mapping[str, Any]], scenarios: Mapping[str, Mapping[str, Any]]
) -> Iterator[ScenarioStanding]:
    for name in dict.fromkeys(row["scenario"] for row in trends):
        runs = [row for row in trends if row["scenario"] == name]
        if len(runs) < 2:
            continue
        good = [index for index, row in enumerate(runs) if row["verdict"] == VALID]
        last_good = runs[good[-1]] if good else None
        first_bad = runs[good[-1] + 1 if good else 0] if runs[-1]["verdict"] != VALID else None
        bad = [index for index, row in enumerate(runs) if row["verdict"] != VALID]
        pair: Sequence[Mapping[str, Any]] = ()
        last_bad = None
        if first_bad is not None and last_good is not None:
            pair = last_good, first_bad
        elif bad and first_bad is None:
            pair = last_bad, _ = runs[bad[-1]], runs[bad[-1] + 1]
        differs = sorted_differences(*(scenarios[row["run"]] for row in pair))[:_DIFFERENCES_SHOWN] if pair else []
        yield ScenarioStanding(name, runs, first_bad, last_good, differs, last_bad)
