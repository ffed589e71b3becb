"""A fault explains a finding only if what must have happened in between did, and if it was not over long before."""

from __future__ import annotations

from dataclasses import replace

import pytest
from explaining import ALL_OF_0, HERE, SECOND, declared, explained, lost, moved, placed, rules
from guaranteed import effect

from chaoskit.contract.guarantee import Effect
from chaoskit.history.compacting.placements import Placements


@pytest.mark.parametrize(
    ("fault", "acked_s", "placements", "rule"),
    [
        (effect("kill", "n1", start_s=20), 19, moved(21), "kafka.acks-one"),
        (effect("kill", "n1", start_s=20), 19, HERE, None),
        (effect("kill", "n3", start_s=20), 19, moved(21), None),
        (effect("kill", "n1", start_s=20), 23, moved(21), None),
        (effect("kill", "n1", start_s=20, healed_s=24), 19, moved(55), None),
        (replace(effect("clock-jump", "n1", start_s=20), delays=False), 19, moved(21), None),
        (effect("kill", "n1", start_s=20), 19, placed(), "kafka.acks-one"),
        (replace(effect("elect-leader", "n1", start_s=20), moves=True), 19, moved(21), "kafka.acks-one"),
    ],
    ids=[
        "the leader fails, and another one leads", "nobody else ever led", "the leader was not hit",
        "written after the election", "elected long after", "a wrong clock", "nobody recorded who led",
        "moved on purpose",
    ],
)  # fmt: skip
def test_what_only_the_leader_had_is_lost_when_another_one_leads(
    fault: Effect, acked_s: int, placements: Placements, rule: str | None
) -> None:
    assert rules([lost(acked_s)], [fault], declared({"acks": "1"}), placements=placements) == [rule]


def test_what_came_to_hold_long_after_the_healing_is_not_explained_by_it() -> None:
    """A committed position, an acknowledgement: a fault cannot undo what was not there yet."""
    cut = effect("power-cut", "n1", "n2", "n3", start_s=10, healed_s=14)
    back = {"anomaly": "commit-regression", "topic": "log-0", "partition": 0}

    for since_s, at_s, rule in (
        (9, 15, "kafka.internal-os-flush"),
        (9, 800, "kafka.internal-os-flush"),
        (43, 800, "kafka.internal-os-flush"),
        (45, 800, None),
        (799, 801, None),
        (5, 9, None),
    ):
        row = {**back, "since_ns": since_s * SECOND, "at_ns": at_s * SECOND}
        assert rules([row], [cut], replace(declared(**{"min.insync.replicas": 1}))) == [rule], (since_s, at_s)


def test_a_fault_whose_effect_was_proved_is_the_likelier_cause() -> None:
    cut = replace(ALL_OF_0, start_ns=30 * SECOND, healed_ns=35 * SECOND)
    found = explained([lost(19)], [replace(ALL_OF_0, proved=False), cut])

    assert found.findings["fault"].to_pylist() == [1]
