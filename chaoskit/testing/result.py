"""What a test gets of a judged run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from chaoskit.base.errors import nearest
from chaoskit.base.plain import one_line
from chaoskit.contract import installed
from chaoskit.judge.verdict.verdict import VALID, Found, Verdict
from chaoskit.report.junit import properties
from chaoskit.report.summary import summary

_NOT_FOUND = Found(0, True, "none found")


class Anomalies(Mapping[str, Found]):
    """The anomalies of a run by name. An anomaly that was not found has count 0; an unknown name is a KeyError."""

    def __init__(self, anomalies: Mapping[str, Found]) -> None:
        self._anomalies = anomalies

    def __getitem__(self, name: str) -> Found:
        if name not in installed.anomalies():
            raise KeyError(f"unknown anomaly {name!r}; {nearest(name, installed.anomalies())}")
        return self._anomalies.get(name, _NOT_FOUND)

    def __iter__(self) -> Iterator[str]:
        return iter(self._anomalies)

    def __len__(self) -> int:
        return len(self._anomalies)


@dataclass(frozen=True, slots=True)
class Run:
    """A finished run: its folder and its verdict."""

    folder: Path
    verdict: Verdict

    @property
    def anomalies(self) -> Anomalies:
        """The anomalies found, by name."""
        return Anomalies(self.verdict.anomalies)

    @property
    def summary(self) -> str:
        """A text summary of the run, with evidence, seed, folder and the command that replays it."""
        return summary(self.verdict, self.folder)

    @property
    def properties(self) -> dict[str, str]:
        """What a CI system should show of the run: seed, counts, verdict, folder, replay command."""
        return properties(self.verdict, self.folder)

    def assert_valid(self) -> None:
        """Fail unless the verdict is valid.

        Raises:
            AssertionError: the message has the summary.
        """
        __tracebackhide__ = True
        if self.verdict.verdict != VALID:
            message = f"{self.verdict.headline}; the run is {self.verdict.verdict}: {self.verdict.reasons[0]}"
            raise AssertionError(f"{one_line(message)}\n{self.summary}")
