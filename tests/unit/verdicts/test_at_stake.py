"""A run whose faults could have taken no message proves nothing about loss."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs import TASKS, QueueRun, StoryRun, counts_of

from chaoskit.judge.verdict.verdict import Verdict

HOSTS = ("n1", "n2", "n3")


def _judged(
    folder: Path, targets: tuple[str, ...], lag: float, kind: str = "power-cut", settle: str = "ack"
) -> Verdict:
    """600 messages, one each 10 ms, each taken `lag` s later; from 2 s to 4 s, when nothing was sent, a fault."""
    run = QueueRun(folder, {"consumers": 1, "prefetch": 10}, {"prefetch": 10})
    run.op("consumer-0", "subscribe", 0.001)
    run.publish(range(195), 0.01)
    run.publish(range(195, 600), 0.01, first=4.1 - 1.95)
    run.fault(kind, targets, 2, 4)
    for value in range(600):
        sent = (0.05 if value < 195 else 4.1 - 1.95) + value * 0.01
        run.take("consumer-0", [value], sent + lag, settle=settle)
    run.drained(62, consumers=["consumer-0"])
    return run.judged(60)


def test_a_queue_that_was_empty_when_the_power_was_cut_proves_nothing(tmp_path: Path) -> None:
    verdict = _judged(tmp_path, HOSTS, 0.005)

    assert (verdict.verdict, verdict.faults[0]["at_stake"]) == ("unknown", 0)
    assert verdict.headline.startswith("UNKNOWN: nothing was at stake: when power-cut of n1, n2, n3 began")


def test_what_had_not_been_taken_was_at_stake(tmp_path: Path) -> None:
    verdict = _judged(tmp_path, HOSTS, 3)

    assert (verdict.verdict, verdict.faults[0]["at_stake"], counts_of(verdict)) == ("valid", 195, {})
    assert verdict.headline == "KEPT all 600 acknowledged messages"


def test_little_that_was_at_stake_is_told(tmp_path: Path) -> None:
    verdict = _judged(tmp_path, HOSTS, 0.047)

    assert (verdict.verdict, verdict.faults[0]["at_stake"]) == ("valid", 4)
    assert verdict.headline == "KEPT all 600 acknowledged messages, of which 4 were at stake"


def test_what_was_acknowledged_while_one_of_three_hosts_was_away_was_at_stake(tmp_path: Path) -> None:
    """The queue went on on the others, and nothing of it was left when the fault was healed."""
    run = QueueRun(tmp_path, {"consumers": 1, "prefetch": 10}, {"prefetch": 10})
    run.op("consumer-0", "subscribe", 0.001)
    run.publish(range(600), 0.01)
    run.fault("kill", ["n1"], 2, 4)
    for value in range(600):
        run.take("consumer-0", [value], 0.055 + value * 0.01)
    run.drained(62, consumers=["consumer-0"])

    verdict = run.judged(60)

    assert (verdict.verdict, verdict.faults[0]["at_stake"]) == ("valid", 200)


@pytest.mark.parametrize(("kind", "stake"), [("snapshot", None), ("pause", 0)])
def test_what_a_fault_that_takes_nothing_could_have_taken_is_not_known(
    tmp_path: Path, kind: str, stake: int | None
) -> None:
    verdict = _judged(tmp_path, HOSTS, 0.005, kind)

    assert verdict.faults[0]["at_stake"] == stake
    assert verdict.verdict == ("valid" if stake is None else "unknown")


def test_a_host_that_stores_no_message_says_nothing(tmp_path: Path) -> None:
    run = QueueRun(tmp_path, {"consumers": 0}, {})
    run.led("n1", holders=("n1",), at=0.01, topics=[TASKS])
    run.publish(range(600), 0.01)
    run.fault("power-cut", ["n2"], 2, 4)
    run.drained(62, left=range(600))

    verdict = run.judged(60)

    assert (verdict.verdict, verdict.faults[0]["at_stake"]) == ("valid", None)


def test_a_log_has_what_was_read_long_ago(tmp_path: Path) -> None:
    run = StoryRun(tmp_path, {"kind": "log", "producers": 1, "consumers": 1, "duration": "60s"})
    run.led("n1")
    for value in range(300):
        run.send("producer-0", value, 0.05 + value * 0.01, position=value)
        run.poll("consumer-0", 0.055 + value * 0.01, [(value, value)])
    run.fault("power-cut", HOSTS, 10, 14)
    run.read_back(62, {value: value for value in range(300)})

    verdict = run.judged(60)

    assert (verdict.verdict, verdict.faults[0]["at_stake"]) == ("valid", 300)


@pytest.mark.parametrize(("start", "proved_after", "verdict"), [(3, 1, "valid"), (3, 4, "unknown")])
def test_a_fault_that_took_effect_when_the_load_was_over_shows_nothing(
    tmp_path: Path, start: float, proved_after: float, verdict: str
) -> None:
    run = StoryRun(tmp_path, {"kind": "log", "producers": 1, "consumers": 1, "duration": "6s"})
    run.led("n1")
    for value in range(590):
        run.send("producer-0", value, 0.05 + value * 0.01, position=value)
    run.fault("elect-leader", ["n1"], start, 12, proved_after=proved_after)
    run.read_back(62, {value: value for value in range(590)})

    judged = run.judged(6)

    assert judged.verdict == verdict
    late = [
        why for why in judged.reasons if why.startswith("elect-leader of n1 took effect at 7.0 s, when the load was")
    ]
    assert len(late) == (verdict == "unknown")
