"""Ctrl-C, and signals that mean the same: what they raise, and when."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from dispositions import default_signals

from chaoskit.base.ending import SIGNALS
from chaoskit.run.interruption import TooEarly, interruptible


@pytest.fixture(autouse=True)
def _not_ignored() -> Iterator[None]:
    with default_signals():
        yield


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_before_the_load_an_interruption_ends_the_run(number: signal.Signals) -> None:
    with pytest.raises(TooEarly), interruptible(lambda: None):
        signal.raise_signal(number)


def test_during_the_load_the_first_is_told_and_the_second_aborts() -> None:
    signals: list[int] = []
    with interruptible(lambda: signals.append(1)) as interrupted:
        interrupted.load_begun = True
        signal.raise_signal(signal.SIGINT)

        assert (interrupted.is_set(), signals) == (True, [1])
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize(("times", "raised"), [(1, TooEarly), (2, KeyboardInterrupt)])
def test_while_held_an_interruption_waits(times: int, raised: type[BaseException]) -> None:
    started: list[int] = []

    def start() -> None:
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
        started.append(1)

    with interruptible(lambda: None) as interrupted, pytest.raises(raised), interrupted.held():
        start()

    assert started == [1]


def test_nothing_is_raised_after_an_undisturbed_hold() -> None:
    with interruptible(lambda: None) as interrupted, interrupted.held():
        pass

    assert not interrupted.is_set()
