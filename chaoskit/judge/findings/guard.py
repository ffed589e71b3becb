"""What raises while a run is judged is a doubt: a checker, a rule or a figure never takes the verdict with it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from chaoskit.base import durable
from chaoskit.base.errors import ChaoskitError

Result = TypeVar("Result")

LOG = Path("logs") / "judging.log"
"""The tracebacks of what raised, in the run folder."""


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception of code whose result is a part of the verdict.

    Attributes:
        code: what raised, as the subject of a sentence.
        anomalies: the anomalies that are not judged because of it.
        where: in which partition; empty if it is about all of the run.
        error: the exception in a line.
        trace: its traceback.
    """

    code: str
    anomalies: tuple[str, ...]
    where: str
    error: str
    trace: str


@dataclass
class Guard:
    """Runs code of which the result is only a part of the verdict, and keeps what it raised.

    Attributes:
        raised: what was raised, in order.
        strict: whether everything is raised instead, for those who develop a checker.
    """

    raised: list[Raised] = field(default_factory=list)
    strict: bool = False

    def run(
        self,
        action: Callable[[], Result],
        instead: Callable[[], Result],
        code: str,
        *,
        anomalies: Iterable[str] = (),
        where: str = "",
    ) -> Result:
        """Return the result of `action`, or that of `instead` if it raises.

        Args:
            action: the code.
            instead: makes the result if it raises; called only then.
            code: what it is, as the subject of a sentence.
            anomalies: the anomalies that are not judged if it raises.
            where: the partition that it judges; empty: it is about all of the run.

        Raises:
            ChaoskitError: as `action` raises it: the record is damaged, or cannot be read.
        """
        try:
            return action()
        except ChaoskitError:
            raise
        except Exception as error:  # the boundary: no checker and no figure may cost the verdict
            if self.strict:
                raise
            words = " ".join(f"{type(error).__name__}: {error}".split())
            self.raised.append(Raised(code, tuple(anomalies), where, words, traceback.format_exc()))
            return instead()

    def unjudged(self) -> dict[str, str]:
        """Return the anomalies that are not judged, or not everywhere, each with what raised."""
        return {name: raised.code for raised in self.raised for name in raised.anomalies}

    def doubts(self) -> Iterator[str]:
        """Yield what raised, a sentence for each piece of code and error."""
        places: dict[tuple[str, str], list[Raised]] = {}
        for raised in self.raised:
            places.setdefault((raised.code, raised.error), []).append(raised)
        for (code, error), cases in places.items():
            first = cases[0]
            where = f" in {first.where}" if first.where else ""
            more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
            lacking = f", so {', '.join(first.anomalies)} cannot be judged" if first.anomalies else ""
            yield f"{code} raised {error}{where}{more}{lacking} (traceback: {LOG})"

    def write(self, folder: Path) -> None:
        """Write the tracebacks into a run folder; what an earlier judgement left there goes."""
        path = folder / LOG
        if not self.raised:
            path.unlink(missing_ok=True)
            return
        path.parent.mkdir(exist_ok=True)
        durable.write(path, "\n".join(_entry(raised) for raised in self.raised).encode())


def _entry(raised: Raised) -> str:
    return f"{raised.code}{f' in {raised.where}' if raised.where else ''}\n{raised.trace}"
