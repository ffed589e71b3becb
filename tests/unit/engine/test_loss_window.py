"""The loss window against a count by hand at each instant, and what must not count as safe."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from chaoskit.contract.hosts.recorded_disk import NEVER
from chaoskit.judge.exposure.loss_window import (
    ALL,
    ELSEWHERE,
    LEADER,
    MAJORITY,
    UNKNOWN,
    LossSeries,
    StableCopies,
    loss_windows,
)

HOSTS = ("n1", "n2", "n3")
END = 30

instant = st.one_of(st.integers(0, END), st.just(NEVER))


@st.composite
def drawn(draw: Any) -> StableCopies:
    count = draw(st.integers(0, 6))

    def times(shape: tuple[int, ...], of: Any) -> Any:
        return np.array(
            draw(st.lists(of, min_size=int(np.prod(shape)), max_size=int(np.prod(shape)))), np.int64
        ).reshape(shape)

    written = times((3, count), instant)
    later = times((3, count), st.one_of(st.integers(0, 9), st.just(NEVER)))
    stable = np.where((written == NEVER) | (later == NEVER), NEVER, written + np.where(later == NEVER, 0, later))
    acked, leader = times((count,), st.integers(0, END)), times((count,), st.integers(0, 2))
    return StableCopies(HOSTS, acked, times((count,), instant), stable, written, leader)


def lost_at(copies: StableCopies, at: int, message: int, cut: tuple[int, ...]) -> tuple[bool, bool]:
    """Return whether a cut loses a message for certain, and whether that is in doubt."""
    if not copies.acked_ns[message] <= at < copies.gone_ns[message]:
        return False, False
    if any(copies.stable_ns[host, message] <= at for host in cut):
        return False, False
    others = [copies.written_ns[host, message] for host in range(3) if host not in cut]
    if all(written == NEVER for written in others):
        return True, False
    return False, all(written > at for written in others)


@given(drawn())
def test_each_window_is_what_a_count_at_each_instant_gives(copies: StableCopies) -> None:
    windows = loss_windows(copies, {"a": ["n1", "n3"]})
    messages = range(len(copies.acked_ns))
    sets: dict[str, list[tuple[int, ...]]] = {
        ALL: [(0, 1, 2)],
        MAJORITY: list(combinations(range(3), 2)),
        "rack a": [(0, 2)],
        "n2": [(1,)],
    }
    for at in range(END + 12):
        for name, cuts in sets.items():
            counts = [[lost_at(copies, at, message, cut) for message in messages] for cut in cuts]
            for part, series in enumerate((windows[name].lost, windows[name].doubt)):
                most = max(sum(row[part] for row in of_cut) for of_cut in counts)
                assert series.at(np.array([at])).item() == most, (name, at, part)
        led = [lost_at(copies, at, message, (int(copies.leader[message]),)) for message in messages]
        assert windows[LEADER].lost.at(np.array([at])).item() == sum(certain for certain, _ in led)


def one(**given: Any) -> StableCopies:
    never = np.full((3, 1), NEVER)
    first = {"acked_ns": np.array([10]), "gone_ns": np.array([NEVER]), "stable_ns": never, "written_ns": never}
    return StableCopies(HOSTS, **{**first, "leader": np.array([0]), **given})


def test_a_message_that_is_nowhere_is_lost_by_every_cut() -> None:
    windows = loss_windows(one(), {})

    assert {name: window.lost.peak() for name, window in windows.items()} == dict.fromkeys(windows, (1, 10))


def test_a_copy_that_survivors_wrote_later_is_in_doubt_until_then() -> None:
    written = np.array([[NEVER], [25], [NEVER]])
    windows = loss_windows(one(written_ns=written, stable_ns=written), {})

    assert windows["n1"].lost.peak() == windows["n1"].lost.within(5, 20).peak() == (0, 0)
    assert windows["n1"].doubt.at(np.array([10, 24, 25])).tolist() == [1, 1, 0]
    assert windows[ALL].lost.at(np.array([10, 24, 25])).tolist() == [1, 1, 0]


def test_without_a_known_leader_its_cut_is_not_told() -> None:
    assert LEADER not in loss_windows(one(leader=np.array([UNKNOWN])), {})


def test_a_message_whose_leader_is_not_known_is_not_safe() -> None:
    never = np.full((3, 2), NEVER)
    two = StableCopies(HOSTS, np.array([1, 2]), never[0], never, never, np.array([0, UNKNOWN]))

    assert loss_windows(two, {})[LEADER].lost.peak() == (2, 2)


def test_a_leader_that_stores_nothing_takes_nothing_along() -> None:
    written = np.array([[10], [NEVER], [NEVER]])

    window = loss_windows(one(leader=np.array([ELSEWHERE]), written_ns=written), {})[LEADER]

    assert (window.lost.peak(), window.doubt.peak()) == ((0, 0), (0, 0))


def test_a_host_that_lost_its_copy_in_a_cut_is_no_survivor_that_has_it() -> None:
    """The recording of a power cut takes back when it was written."""
    assert loss_windows(one(), {})["n2"].lost.peak() == (1, 10)


def test_of_eight_hosts_no_majority_is_tried() -> None:
    never = np.full((8, 1), NEVER)
    names = [f"n{number}" for number in range(8)]

    windows = loss_windows(StableCopies(names, np.array([1]), never[0], never, never, np.array([0])), {})

    assert MAJORITY not in windows
    assert len(windows) == 2 + 8


def test_nothing_acknowledged_is_nothing_lost() -> None:
    empty = np.empty((3, 0), np.int64)
    windows = loss_windows(StableCopies(HOSTS, *(empty[0],) * 2, empty, empty, empty[0]), {})

    assert {window.lost.peak() for window in windows.values()} == {(0, 0)}


def test_a_median_weighs_numbers_by_how_long_they_lasted() -> None:
    series = LossSeries.of(np.array([0, 1, 2]), np.array([20, 11, 3]))

    assert series.within(0, 20).median(20) == 1
    assert series.within(1, 11).median(11) == 2
    assert series.within(0, 20).peak() == (3, 2)
    assert LossSeries.of(np.empty(0, np.int64), np.empty(0, np.int64)).within(0, 5).median(5) == 0
