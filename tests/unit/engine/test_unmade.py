"""A load that was not made is a doubt; what faults and the last moment kept clients from is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from recorded import Sent, fault, figures_of, load, recorded

from chaoskit.judge.timing.metrics import not_made
from chaoskit.judge.timing.timing import FaultTimes
from chaoskit.model.outcome import INFO, OK

END_MS = 20_000
EVERY_MS = 10
BLOCKED = fault(5_000, 10_000, 10_000)


def _sends(*gone_ms: tuple[int, int], every_ms: int = EVERY_MS) -> list[Sent]:
    """Return sends at the declared rate, or another one, but in some intervals."""
    return [
        (0, at, at + 1, OK) for at in range(0, END_MS, every_ms) if not any(begin <= at < end for begin, end in gone_ms)
    ]


@pytest.mark.parametrize(
    ("sends", "faults", "unmade"),
    [
        (_sends(), (), 0),
        (_sends((19_600, END_MS)), (), 0),  # the last moment
        (_sends((19_000, END_MS)), (), 100),
        (_sends((5_000, 10_000)), (), 500),  # without a fault
        (_sends((5_000, 10_000)), (BLOCKED,), 0),
        (_sends((5_000, 14_000)), (BLOCKED,), 0),  # and for as long as it had lasted
        (_sends((5_000, 10_000)), (fault(12_000, 13_000, 13_000),), 500),  # a fault at another time
        (_sends((5_000, 10_000)), (fault(7_000, 8_000, 8_000),), 200),  # before it, and after it was over
        (_sends((5_000, END_MS)), (fault(5_000, None, None),), 0),  # never healed
        (_sends(every_ms=100), (), 1_800),  # one in ten: a client that is too slow
        (_sends(every_ms=100), (BLOCKED,), 900),  # as much slower under the fault as without it
    ],
)
def test_what_nothing_kept_clients_from_is_a_load_that_was_not_made(
    sends: list[Sent], faults: tuple[FaultTimes, ...], unmade: int, tmp_path: Path
) -> None:
    figures = figures_of(recorded(tmp_path, sends), load(END_MS, every_ms=EVERY_MS), *faults)

    assert figures["unmade"] == pytest.approx(unmade, abs=2)
    assert bool(not_made(figures)) == bool(unmade)


def test_a_wait_that_began_under_a_fault_lasts_until_a_send_is_acknowledged_again(tmp_path: Path) -> None:
    waiting: Sent = (0, 5_000, 17_000, OK)

    figures = figures_of(
        recorded(tmp_path, [*_sends((5_000, 17_000)), waiting]),
        load(END_MS, every_ms=EVERY_MS),
        fault(5_000, 6_000, 6_000),
    )

    assert figures["counts"]["never_made"] > 1_000
    assert figures["unmade"] == 0


def test_a_client_that_caught_up_owes_nothing(tmp_path: Path) -> None:
    sends = [(0, at, max(at, 15_000) + 1, INFO if at % 20 else OK) for at in range(0, END_MS, EVERY_MS)]

    figures = figures_of(recorded(tmp_path, sends), load(END_MS, every_ms=EVERY_MS))

    assert (figures["counts"]["never_made"], figures["unmade"]) == (0, 0)


def test_the_doubt_is_told_with_its_numbers() -> None:
    counts = {"never_made": 44_225, "sent": 3_777}

    assert not_made({"counts": counts, "unmade": 44_225}) == (
        "the load was not made: 44,225 of 48,002 sends were never made, though due; "
        "no fault prevented clients from making them",
    )
    (partly,) = not_made({"counts": counts, "unmade": 9})
    assert partly.endswith("no fault prevented clients from making 9 of them")
    assert not_made({"counts": counts, "unmade": 0}) == ()
