"""Which lines of a log stand around a finding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from chaoskit.history.format.log_times import packed, times_path
from chaoskit.report.printed import Printed, printed_around, printed_lines

MS, SECOND = 1_000_000, 1_000_000_000
KILLED = {"at_ns": 3 * SECOND, "blamed": {"instance": "application-1", "at_ns": 5 * SECOND, "ended": "signal SIGKILL"}}


class Logs:
    """The logs of instances, watched every 50 ms."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._logs = folder / "logs" / "application"
        self._logs.mkdir(parents=True)

    def path(self, instance: int) -> Path:
        return self._logs / f"application-{instance}.log"

    def printed(self, instance: int, *written: tuple[int, bytes]) -> None:
        """An instance wrote these bytes by these times, ms."""
        pairs, content = [(0, 0)], b""
        for at_ms, text in written:
            pairs.append((len(content), (at_ms - 50) * MS))
            content += text
            pairs.append((len(content), at_ms * MS))
        if content:
            self.path(instance).write_bytes(content)
        times_path(self.path(instance)).write_bytes(packed(pairs))

    def around(self, example: dict[str, Any] = KILLED, lines: int = 4) -> Printed:
        printed = printed_around(self.folder, "unprocessed", example, lines)
        assert printed is not None
        return printed


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    return Logs(tmp_path)


def texts(printed: Printed, instance: int = 0) -> tuple[list[str], list[str]]:
    """Return the lines of an excerpt, before and after the moment."""
    excerpt = printed.excerpts[instance]
    return [line.text for line in excerpt.before], [line.text for line in excerpt.after]


def test_half_of_them_are_before_the_moment_and_half_after(logs: Logs) -> None:
    logs.printed(0, (4900, b"of another\n"))
    logs.printed(1, *((4000 + 300 * number, f"line {number}\n".encode()) for number in range(8)))
    printed = logs.around()

    assert texts(printed) == (["line 2", "line 3"], ["line 4", "line 5"])
    assert [line.when for line in printed.excerpts[0].before] == ["4.60 s", "4.90 s"]
    assert (printed.at_ns, printed.ended, printed.proved) == (5 * SECOND, "signal SIGKILL", True)
    assert [excerpt.file for excerpt in printed.excerpts] == ["logs/application/application-1.log"]


def test_last_words_that_were_seen_after_the_end_stand_before_it(logs: Logs) -> None:
    logs.printed(1, (5040, b"last words\n"), (7000, b"begins\n"))

    assert texts(logs.around()) == (["last words"], ["begins"])


def test_an_instance_that_printed_nothing(logs: Logs) -> None:
    logs.printed(1)

    assert texts(logs.around()) == ([], [])
    assert list(printed_lines(logs.folder, "unprocessed", KILLED)) == []


@pytest.mark.parametrize("unwatched", [(), (0,)])
def test_a_run_without_times_has_no_lines(logs: Logs, unwatched: tuple[int, ...]) -> None:
    logs.path(1).write_text("line\n")
    for number in unwatched:
        logs.printed(number, (4000, b"of another\n"))

    assert printed_around(logs.folder, "unprocessed", KILLED, 4) is None
    assert list(printed_lines(logs.folder, "unprocessed", KILLED)) == []


def test_a_log_that_was_cut_has_no_lines(logs: Logs) -> None:
    logs.printed(1, (4000, b"one\n"), (4500, b"two\n"))
    logs.path(1).write_bytes(b"one\n")

    assert printed_around(logs.folder, "unprocessed", KILLED, 4) is None


def test_other_anomalies_have_no_lines(logs: Logs) -> None:
    logs.printed(1, (4000, b"one\n"))

    assert printed_around(logs.folder, "lost", KILLED, 4) is None
    assert printed_around(logs.folder, "of-a-plugin-that-is-not-installed", KILLED, 4) is None


def test_all_instances_stand_there_if_none_is_proved(logs: Logs) -> None:
    for number in range(2):
        logs.printed(number, *((at, f"{number} at {at}\n".encode()) for at in (2000, 2900, 3500)))
    printed = logs.around({"at_ns": 3 * SECOND})

    assert not printed.proved
    assert texts(printed) == (["0 at 2900"], ["0 at 3500"])
    assert texts(printed, 1) == (["1 at 2900"], ["1 at 3500"])
    assert list(printed_lines(logs.folder, "unprocessed", {"at_ns": 3 * SECOND})) == [
        "    printed around 3.00 s in logs/application/ (which instance is not known):",
        "      2.90 s  application-0: 0 at 2900",
        "      2.90 s  application-1: 1 at 2900",
    ]


def test_a_line_that_the_end_of_an_instance_cut_stands_as_it_is(logs: Logs) -> None:
    logs.printed(1, (4900, b"whole\nhal"), (7000, b"begins\nto be contin"))

    assert texts(logs.around()) == (["whole", "halbegins"], ["to be contin"])


def test_what_is_no_text_and_what_steers_a_terminal_is_escaped(logs: Logs) -> None:
    logs.printed(1, (4900, b"\xff\x00\x1b[2J\x1b[31mred\x1b[0m\x1b]0;title\x07\r\n \n\tat x\n\xe2\x80\xaeback\n"))

    assert texts(logs.around(lines=8))[0] == ["\ufffd\\x00red\\x1b]0;title\\x07", "    at x", "\\u202eback"]


def test_a_time_that_is_not_known_well_is_an_interval(logs: Logs) -> None:
    logs.printed(1, (4900, b"line\n"))
    times_path(logs.path(1)).write_bytes(packed([(0, 1000 * MS), (5, 4900 * MS)]))

    assert [line.when for line in logs.around().excerpts[0].before] == ["1.00-4.90 s"]


def test_of_a_long_log_only_what_is_around_is_read(logs: Logs) -> None:
    filler = b"".join(b"%07d\n" % number for number in range(100_000))
    logs.printed(1, (1000, filler), (4900, b"near\n"), (6000, b"next\n" + filler))
    printed = logs.around()

    assert texts(printed) == (["0099999", "near"], ["next", "0000000"])


@pytest.mark.parametrize(("columns", "width"), [(80, 80), (200, 100)])
def test_long_lines_are_cut(logs: Logs, monkeypatch: pytest.MonkeyPatch, columns: int, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    logs.printed(1, (4900, b"x" * 5000 + b"\n"))

    assert texts(logs.around())[0] == ["x" * 400 + " ..."]
    title, line = printed_lines(logs.folder, "unprocessed", KILLED)
    assert title == "    printed around 5.00 s in logs/application/application-1.log:"
    assert (len(line), line[-6:]) == (width, "xx ...")


def test_three_lines_stand_in_a_terminal(logs: Logs) -> None:
    logs.printed(1, *((4000 + 300 * number, f"line {number}\n".encode()) for number in range(8)))

    assert list(printed_lines(logs.folder, "unprocessed", KILLED))[1:] == [
        "      4.60 s  line 2",
        "      4.90 s  line 3",
        "      5.20 s  line 4",
    ]
