"""What instances of an application printed around a finding, from their logs in the run folder.

What nobody noted the time of is left out: of runs before that was noted, and of a log that somebody has cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

from chaoskit.base import store
from chaoskit.base.plain import one_line
from chaoskit.contract import installed
from chaoskit.contract.workloads.application import APPLICATION
from chaoskit.history.format.log_times import LogTimes, read_times

_WINDOW = 64 * 1024
"""So many bytes of a log are read before and after the moment."""

_LINES, _WIDTH = 3, 100
"""So many lines stand in a terminal, at most so wide, as the rest of a summary."""

_LENGTH_MAX = 400
_PRECISE_NS = 100_000_000
"""A line whose time is known this well is shown with one time, otherwise with two."""

_COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


@dataclass(frozen=True, slots=True)
class PrintedLine:
    """A line of a log, without what would steer a terminal.

    Attributes:
        when: when it was printed, in words.
        text: the line, cut if it is long.
    """

    when: str
    text: str


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What an instance printed around a moment.

    Attributes:
        instance: its name.
        file: its log, in the run folder.
        before, after: the last lines before the moment, and the first after it.
    """

    instance: str
    file: str
    before: tuple[PrintedLine, ...]
    after: tuple[PrintedLine, ...]


@dataclass(frozen=True, slots=True)
class Printed:
    """What was printed around a finding.

    Attributes:
        at_ns: the moment: when the instance that is to blame ended, if it did, or else that of the finding.
        ended: how it ended; empty if it did not, or the record proves no instance.
        excerpts: of the instance that is to blame, or else of all of them.
        proved: whether the record proves which instance is to blame.
    """

    at_ns: int
    ended: str
    excerpts: tuple[Excerpt, ...]
    proved: bool


def printed_around(folder: Path, anomaly: str, example: Mapping[str, Any], lines: int) -> Printed | None:
    """Return what was printed around a finding; None: that is not known, or the finding is not about the application.

    Args:
        folder: the run folder.
        anomaly: the name of the anomaly.
        example: a finding as in verdict.json.
        lines: how many lines at most, half of them before the moment; if the record proves no instance, of all
            together, and at least one of each.
    """
    known, blamed = installed.anomalies().get(anomaly), example.get("blamed")
    if known is None or not known.of_application:
        return None
    at_ns = blamed["at_ns"] if blamed else example.get("at_ns")
    logs = sorted((folder / store.LOGS / APPLICATION).glob(f"{APPLICATION}-*.times"))
    logs = [log.with_suffix(".log") for log in logs if blamed is None or log.stem == blamed["instance"]]
    if at_ns is None or not logs:
        return None
    read = [_excerpt(folder, log, at_ns, max(lines // len(logs), 1)) for log in logs]
    excerpts = tuple(excerpt for excerpt in read if excerpt is not None)
    ended = blamed.get("ended", "") if blamed else ""
    return Printed(at_ns, ended, excerpts, blamed is not None) if excerpts else None


def printed_lines(folder: Path, anomaly: str, example: Mapping[str, Any]) -> Iterator[str]:
    """Yield what was printed around a finding, for a terminal: at most three lines of the logs, below where they are,
    none of which is wider than the terminal.

    Args:
        folder: the run folder.
        anomaly: the name of the anomaly.
        example: a finding as in verdict.json.
    """
    printed = printed_around(folder, anomaly, example, _LINES)
    if printed is None or not any(excerpt.before or excerpt.after for excerpt in printed.excerpts):
        return
    where = f"{store.LOGS}/{APPLICATION}/ (which instance is not known)"
    if printed.proved:
        where = printed.excerpts[0].file
    yield f"    printed around {printed.at_ns / 1e9:.2f} s in {where}:"
    width = min(get_terminal_size((_WIDTH, 0)).columns, _WIDTH)
    shown = [(excerpt, line) for excerpt in printed.excerpts for line in (*excerpt.before, *excerpt.after)]
    for excerpt, line in shown[:_LINES]:
        text = f"      {line.when}  {'' if printed.proved else f'{excerpt.instance}: '}{line.text}"
        yield text if len(text) <= width else f"{text[: width - 4]} ..."


def _excerpt(folder: Path, log: Path, at_ns: int, lines: int) -> Excerpt | None:
    """Return what is in a log around a moment; None: it is not known when its lines were printed."""
    with suppress(OSError):
        times = read_times(log)
        if times is not None:
            split = times.length(at_ns)
            read = list(_lines(log, times, split))
            before = [line for line in read if line[0] < split][lines // 2 - lines :]
            after = [line for line in read if line[0] >= split][: lines // 2]
            shown_before, shown_after = (tuple(_shown(times, *line) for line in part) for part in (before, after))
            return Excerpt(log.stem, str(log.relative_to(folder)), shown_before, shown_after)
    return None


def _lines(log: Path, times: LogTimes, split: int) -> Iterator[tuple[int, bytes]]:
    """Yield the lines around a place of a log, each with the place at which it begins."""
    end = int(times.size[-1])
    place, until = max(split - _WINDOW, 0), min(split + _WINDOW, end)
    if place == until:
        return
    with log.open("rb") as file:
        file.seek(place)
        pieces = file.read(until - place).split(b"\n")
    for number, piece in enumerate(pieces):
        torn = (number == 0 and place > 0) or (number == len(pieces) - 1 and until < end)
        if piece.strip() and not torn:
            yield place, piece
        place += len(piece) + 1


def _shown(times: LogTimes, place: int, line: bytes) -> PrintedLine:
    since_ns, until_ns = times.written_ns(place)
    when = f"{until_ns / 1e9:.2f} s"
    if until_ns - since_ns > _PRECISE_NS:
        when = f"{since_ns / 1e9:.2f}-{when}"
    text = one_line(_COLOURS.sub("", line.decode(errors="replace").rstrip().expandtabs(4)))
    return PrintedLine(when, f"{text[:_LENGTH_MAX]} ..." if len(text) > _LENGTH_MAX else text)
