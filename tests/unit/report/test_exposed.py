"""What a power cut would have cost, in words, as a table and as charts."""

from __future__ import annotations

from typing import Any

import pytest

from chaoskit.cli.exposure import show_exposure
from chaoskit.report.figures import exposed

NEVER = {"p50": None, "p99": None, "max": None, "never": 1200}
TOLD: dict[str, Any] = {
    "acked": 1200,
    "copies_at_ack": {"0": 200, "1": 0, "2": 1000},
    "lag_ms": {"1": {"p50": -2.5, "p99": 900.0, "max": 1000.25, "never": 3}, "2": NEVER},
    "loss_window": {
        "all": {"median": 100, "max": 1197, "at_s": 12.34, "in_doubt": 0},
        "leader": {"median": 0, "max": 0, "at_s": 0.0, "in_doubt": 55},
    },
    "doubts": ["n1 was not synced"],
}


def test_in_words() -> None:
    assert exposed.in_words(TOLD) == [
        "when acknowledged, on stable storage of 0 hosts: 200, 2 hosts: 1,000",
        "on 1 host after the acknowledgement: p50 -2.5 ms, p99 900.0 ms, max 1,000.2 ms; never: 3 messages",
        "on 2 hosts after the acknowledgement: never",
        "a power cut of all: at most 1,197 lost (at 12.3 s), median 100",
        "a power cut of leader: at most 0 lost; up to 55 more in doubt",
        "doubt: n1 was not synced",
    ]


def test_what_could_not_be_measured_is_told() -> None:
    assert exposed.in_words({"doubts": ["the disk of n2 was not recorded"]}) == [
        "doubt: the disk of n2 was not recorded"
    ]


def test_as_tables(capsys: pytest.CaptureFixture[str]) -> None:
    show_exposure(TOLD)

    printed = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "2 hosts 1,000" in printed
    assert "1 host -2.5 ms 900.0 ms 1,000.2 ms 3" in printed
    assert "2 hosts never never never 1,200" in printed
    assert "all 100 1,197 12.3 s 0" in printed
    assert "leader 0 0 - 55" in printed
    assert printed[-1] == "doubt: n1 was not synced"


def test_as_charts() -> None:
    second = {"at_s": 1.0, "lag_ms": {"1": {"p99": 2.0}, "2": {"p99": None}}, "loss_window": {"all": 5, "n1": 1}}

    windows, lag = exposed.figures([second], [0.0, 2.0])

    assert windows["spec"]["layer"][0]["data"]["values"][0]["all"] == 5
    assert lag["spec"]["layer"][0]["data"]["values"] == [{"t": 1.0, "c1": 2.0, "c2": None}]
    assert exposed.figures([], [0.0, 2.0]) == []
