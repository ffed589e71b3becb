"""Progress on stderr: a live status line on a terminal, otherwise one line per event."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.status import Status
from rich.text import Text

from chaoskit.base.plain import one_line
from chaoskit.cli.output.console import progress_console
from chaoskit.contract.event import Event, LoadTick, PhaseBegun
from chaoskit.model.progress import Progress
from chaoskit.report.telling import told

_RATE_WINDOW_S = 2


class LiveProgress:
    """A `chaoskit.contract.event.Watcher` that shows progress to the user.

    Args:
        title: name of the run.
        duration_s: declared length of the load; 0 if it differs between runs.
    """

    def __init__(self, title: str, duration_s: float = 0) -> None:
        self._console = progress_console()
        self._title = title
        self._duration_s = duration_s
        self._status: Status | None = None
        self._began = time.monotonic()
        self._last: tuple[float, Progress] = (0.0, Progress())
        self._rate = 0.0

    def on(self, event: Event) -> None:
        """Show an event; see `chaoskit.contract.event.Watcher`."""
        match event:
            case PhaseBegun(name) if self._console.is_terminal:
                self._show(name)
            case LoadTick():
                self._tick(event)
            case _:
                self._print(told(event))

    def _tick(self, tick: LoadTick) -> None:
        before_s, before = self._last
        progress = tick.progress
        if tick.elapsed_s - before_s >= _RATE_WINDOW_S:
            self._rate = (progress.sent - before.sent) / (tick.elapsed_s - before_s)
            self._last = tick.elapsed_s, progress
        faults = f"{', '.join(tick.faults)}  " if tick.faults else ""
        of = f"/{self._duration_s:.0f}" if self._duration_s else ""
        self._show(
            f"{tick.elapsed_s:.0f}{of} s  ",
            (faults, "bold red"),
            f"{self._rate:,.0f}/s  acked {progress.acked:,}  unknown {progress.indeterminate:,}",
        )

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._status = self._console.status(Text(self._title))
            self._status.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def _print(self, line: str) -> None:
        if line:
            self._console.print(one_line(f"{self._stamp()} {line}"), soft_wrap=True)

    def _show(self, *parts: str | tuple[str, str]) -> None:
        """Show text, or text and its style, on the live line."""
        if self._status is not None:
            shown = (one_line(part) if isinstance(part, str) else (one_line(part[0]), part[1]) for part in parts)
            self._status.update(Text.assemble(one_line(f"{self._title}: "), *shown))

    def _stamp(self) -> str:
        return f"{self._title} {time.monotonic() - self._began:6.1f} s "


class SeriesProgress(LiveProgress):
    """Progress of many runs; the phases of each run appear only on the live line."""

    def on(self, event: Event) -> None:
        if isinstance(event, PhaseBegun):
            self._show(event.name)
        else:
            super().on(event)
