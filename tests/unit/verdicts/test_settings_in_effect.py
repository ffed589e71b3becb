"""A run is judged by the settings that the running system reported, not by those that the scenario declares."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from runs import StoryRun, counts_of

from chaoskit.base import store
from chaoskit.judge.subject.in_effect import in_effect
from clusters.kafka.settings import FLUSH, LAG_MS, MIN_INSYNC, KafkaOptions
from clusters.pulsar.settings import DEDUPLICATION, SESSION_EXPIRED, PulsarOptions

ALL = ("n1", "n2", "n3")
NEVER = "9223372036854775807"
BROKERS = {f"broker {host}": {"replica.lag.time.max.ms": "30000"} for host in ALL}


def _judged(folder: Path, topic: Mapping[str, Any], reported: Mapping[str, Any] | None) -> Any:
    """Tell a story of 3,000 sends and a power cut of all brokers at 25 s, after which the last 100 before it are gone.

    Args:
        folder: for the run.
        topic: the topic's settings as they are declared.
        reported: what the brokers report of all settings; None: there is no such file.
    """
    cluster = {"system": "kafka", "hosts": 3, "topic": topic}
    load = {"kind": "log", "duration": "30s", "producers": 1, "consumers": 1, "rate": 100, "partitions": 1}
    run = type("Run", (StoryRun,), {"cluster": cluster})(folder, load)
    run.led("n1", 0, holders=ALL, in_sync=ALL)
    run.fault("power-cut", ALL, 25, 27)
    run.led("n1", 27.5, holders=ALL, in_sync=ALL)
    for number in range(2500):
        run.send("producer-0", number, number * 0.01, number)
    run.poll("auditor", 101, [(number, number) for number in range(2400)])
    run.bounded(100, 2400)
    if reported is not None:
        store.write_json(run.folder / store.EFFECTIVE, reported)
    return run.judged(30, 100)


def _flushing(value: str) -> dict[str, Any]:
    return {"topic log-0": {"flush.messages": value, "min.insync.replicas": "1"}, **BROKERS}


def test_what_was_declared_is_judged_if_it_was_in_effect(tmp_path: Path) -> None:
    verdict = _judged(tmp_path, {"flush.messages": 1}, _flushing("1"))

    assert verdict.verdict == "invalid"
    assert counts_of(verdict)["lost"] == (100, False)


def test_a_default_that_was_not_in_effect_excuses_nothing(tmp_path: Path) -> None:
    """A broker's own configuration flushes each message; the scenario does not say so."""
    verdict = _judged(tmp_path, {}, _flushing("1"))

    assert verdict.verdict == "invalid"
    assert counts_of(verdict)["lost"] == (100, False)


def test_a_setting_that_was_not_in_effect_is_not_held_against_the_system_and_proves_nothing(tmp_path: Path) -> None:
    verdict = _judged(tmp_path, {"flush.messages": 1}, _flushing(NEVER))

    assert counts_of(verdict)["lost"] == (100, True)
    assert verdict.verdict == "unknown"
    assert f"flush.messages of topic log-0 was {NEVER}, not 1 as the scenario declares" in verdict.reasons


@pytest.mark.parametrize("reported", [{}, BROKERS], ids=["nobody", "no topic"])
def test_what_nobody_reported_is_in_doubt(tmp_path: Path, reported: Mapping[str, Any]) -> None:
    verdict = _judged(tmp_path, {}, reported)

    assert verdict.verdict == "unknown"
    assert "no topic reported the settings in effect" in verdict.reasons


def test_a_run_without_the_file_is_judged_by_what_it_declares(tmp_path: Path) -> None:
    assert _judged(tmp_path, {}, None).verdict == "valid"


def test_a_damaged_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"effective\.json"):
        _judged(tmp_path, {}, [json.dumps(1)])  # type: ignore[arg-type]


def test_values_in_effect_have_the_type_of_their_default() -> None:
    reported = {"broker n1": {"brokerDeduplicationEnabled": "true", "zookeeperSessionExpiredPolicy": "shutdown"}}

    options, doubts = in_effect(PulsarOptions(), (DEDUPLICATION, SESSION_EXPIRED), reported)

    assert (options.deduplication, options.exiting) == (True, ("bookie", "broker"))
    assert doubts == ["brokerDeduplicationEnabled of broker n1 was True, not False as the scenario declares"]


def test_brokers_that_differ_are_in_doubt() -> None:
    reported = {f"broker n{number}": {"replica.lag.time.max.ms": f"{number}0000"} for number in (1, 2)}

    options, doubts = in_effect(KafkaOptions(), (LAG_MS,), reported)

    assert doubts == ["replica.lag.time.max.ms was not the same everywhere: 10000 of broker n1, 20000 of broker n2"]
    assert LAG_MS.of(options) == 30_000


def test_a_setting_of_a_topic_inherits_what_is_declared_for_brokers() -> None:
    options = KafkaOptions(config={"min.insync.replicas": 2}, topic={"flush.messages": None})

    assert (MIN_INSYNC.number_of(options), FLUSH.of(options)) == (2, int(NEVER))
    assert in_effect(options, (MIN_INSYNC,), {"topic t": {"min.insync.replicas": "2"}})[1] == []
    doubts = in_effect(options, (MIN_INSYNC,), {"topic t": {"min.insync.replicas": "1"}})[1]
    assert doubts == ["min.insync.replicas of topic t was 1, not 2 as the scenario declares"]
