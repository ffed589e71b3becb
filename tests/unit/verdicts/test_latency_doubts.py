"""What `record: latency` cannot judge and has reason to doubt makes the verdict unknown; what is well stays valid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runs import StoryRun, needed

from chaoskit.judge.verdict.verdict import Verdict

LOAD = {"kind": "log", "producers": 2, "consumers": 1, "rate": 1, "duration": "300s"}
GROUPED = {**LOAD, "consumption": "group", "consumers": 2}
OTHER = 1 << 40


def read(folder: Path, came: dict[int, list[int]], fault: tuple[Any, ...] | None = None, **more: Any) -> Verdict:
    """A reader was given messages, which were due every second of 300, in these seconds."""
    run = StoryRun(folder, LOAD, "latency", **more)
    run.led("n1")
    if fault is not None:
        run.fault(*fault, **needed(fault[0]))
    for value in range(300):
        run.send("producer-0", value, value, value)
    run.op("consumer-0", "assign", 0)
    for at, values in sorted(came.items()):
        run.op("consumer-0", "poll", at + 0.5, received=[("log-0", 0, value, value, value, 0) for value in values])
    run.read_back(400, {value: value for value in range(300)})
    return run.judged(300, 1)


ALWAYS = {at: [at] for at in range(300)}
AT_ONCE = {at: [at] for at in range(300) if not 20 <= at < 150} | {150: [*range(20, 151)]}
NO_MORE = {at: [at] for at in range(150)}
SOON = {at: [at] for at in range(300) if not 20 <= at < 70} | {70: [*range(20, 71)]}


@pytest.mark.parametrize(
    ("came", "fault", "verdict"),
    [
        pytest.param(ALWAYS, None, "valid", id="everything at once"),
        pytest.param(SOON, None, "valid", id="after less than the bound"),
        pytest.param({80 + at: [at] for at in range(300)}, None, "unknown", id="nothing for 80 s, then late"),
        pytest.param(AT_ONCE, None, "unknown", id="nothing for 130 s"),
        pytest.param(NO_MORE, None, "unknown", id="nothing any more"),
        pytest.param(AT_ONCE, ("pause", ("n1",), 15, 140), "valid", id="the leader was paused"),
        pytest.param(AT_ONCE, ("client-pause", ("consumer-0",), 15, 149), "valid", id="the reader was paused"),
        pytest.param(AT_ONCE, ("client-pause", ("producer-1",), 15, 149), "unknown", id="a producer was paused"),
        pytest.param(AT_ONCE, ("clock-jump", ("n1",), 15, 149), "unknown", id="a clock was wrong"),
    ],
)
def test_a_reader_that_may_have_stood(
    tmp_path: Path, came: dict[int, list[int]], fault: tuple[Any, ...] | None, verdict: str
) -> None:
    assert read(tmp_path, came, fault).verdict == verdict


def test_a_reader_that_is_late_all_the_time_reads(tmp_path: Path) -> None:
    came = {at: [at] for at in range(30)}
    came |= {at: [30 + (at - 30) // 2] for at in range(30, 300, 2)}

    assert "nothing came" not in str(read(tmp_path, came).reasons)


def committing(folder: Path, second: tuple[int, ...], *, seeks: bool = False) -> Verdict:
    """Two members of a group, one after the other, each received everything from where it began to where it ended."""
    run = StoryRun(folder, GROUPED, "latency")
    run.led("n1")
    for value in range(20):
        run.send("producer-0", value, value, value)
    for number, commits in enumerate(((3, 6, 10), second)):
        member, since = f"consumer-{number}", 10 * number
        run.op(member, "subscribe", 0.1)
        run.op(member, "assign", since + 0.2, observed=[("assigned", "log-0", 0, "g", number, None)])
        if seeks and number:
            run.op(member, "seek", since + 0.3)
        run.op(
            member, "poll", since + 9.5, received=[("log-0", 0, v, v, float(v), 0) for v in range(since, since + 10)]
        )
        for index, position in enumerate(commits):
            observations = [("committed", "log-0", 0, "g", number, position)]
            run.op(member, "commit", since + 9.6 + index / 10, observed=observations)
    run.read_back(100, {value: value for value in range(20)})
    return run.judged(20, 1)


@pytest.mark.parametrize(
    ("second", "seeks", "verdict"),
    [
        ((11, 15, 20), False, "valid"),
        ((10, 10, 20), False, "valid"),
        ((5, 15, 20), False, "unknown"),
        ((11, 20, 15), False, "unknown"),
        ((5, 15, 20), True, "valid"),
    ],
)
def test_commits_that_go_back(tmp_path: Path, second: tuple[int, ...], seeks: bool, verdict: str) -> None:
    assert committing(tmp_path, second, seeks=seeks).verdict == verdict


@pytest.mark.parametrize(("behind", "verdict"), [(0, "valid"), (10, "unknown")])
def test_order_between_producers(tmp_path: Path, behind: int, verdict: str) -> None:
    """The messages of one producer lie so many positions further back than when they were sent."""
    run = StoryRun(tmp_path, LOAD, "latency")
    run.led("n1")
    sent = [base + value for value in range(30) for base in (0, OTHER)]
    key = {value: at + (2.0 * behind if value >= OTHER else 0) for at, value in enumerate(sent)}
    places = {value: place for place, value in enumerate(sorted(sent, key=lambda value: key[value]))}
    for at, value in enumerate(sent):
        run.send(f"producer-{value >> 40}", value, at, places[value])
    run.read_back(100, places)

    assert run.judged(60, 1, 2).verdict == verdict
