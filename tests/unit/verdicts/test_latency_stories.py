"""`record: latency` says what a history says."""

from __future__ import annotations

from pathlib import Path

import pytest
from runs import StoryRun, counts_of

from chaoskit.model.audit import Bounds
from chaoskit.model.message import NO_POSITION
from chaoskit.model.outcome import OUTCOMES

RECORDS = ["history", "latency"]
LOAD = {"kind": "log", "producers": 1, "consumers": 1, "rate": 100, "duration": "20s"}


@pytest.mark.parametrize("record", RECORDS)
def test_what_a_consumer_read_and_the_log_then_lost_is_lost(tmp_path: Path, record: str) -> None:
    run = StoryRun(tmp_path, LOAD, record)
    run.led("n1")
    for value in range(1000):
        run.send("producer-0", value, value * 0.01, value)
    run.poll("consumer-0", 11, [(value, value) for value in range(1000)])
    run.read_back(30, {value: value for value in range(600)})

    verdict = run.judged(10, 100)

    assert verdict.verdict == "invalid"
    assert counts_of(verdict)["lost"] == (400, False)


@pytest.mark.parametrize("explained", [900, 110_000])
def test_what_lies_beyond_the_findings_that_are_listed_is_explained_by_its_own_fault(
    tmp_path: Path, explained: int
) -> None:
    run = StoryRun(tmp_path, {**LOAD, "producers": 2, "duration": "400s"}, "latency")
    run.led("n1")
    run.fault("power-cut", ("n1", "n2", "n3"), 10, 12)
    for value in range(explained):
        run.send("producer-0", value, 8 + value * 1e-5, value)
    other = 1 << 40
    for value in range(1500):
        run.send("producer-1", other + value, 300 + value * 0.01, value)
    run.read_back(500, {other + value: value for value in range(1000)})

    verdict = run.judged(400, clients=2)

    lost = verdict.anomalies["lost"]
    assert (lost.count, lost.allowed) == (explained + 500, False)
    assert [cause["count"] for cause in lost.causes] == [explained]


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize(
    ("partition", "value", "payload", "anomaly"),
    [
        pytest.param(0, 6, 0, "duplicate", id="again"),
        pytest.param(0, 8, 0, "failed-visible", id="its send failed"),
        pytest.param(0, 100, 0, "phantom", id="never sent"),
        pytest.param(0, 7, 0, "misrouted", id="sent to another partition"),
        pytest.param(0, 6, 1, "corrupt", id="damaged"),
        pytest.param(0, 6, 2, "phantom", id="of another run"),
    ],
)
def test_what_the_final_read_must_not_have(  # noqa: PLR0917 - parametrized
    tmp_path: Path, record: str, partition: int, value: int, payload: int, anomaly: str
) -> None:
    run = StoryRun(tmp_path, {**LOAD, "partitions": 2}, record)
    run.led("n1")
    for sound in range(8):
        run.send("producer-0", sound, sound, sound // 2)
    run.send("producer-0", 8, 8, outcome="fail")
    log = run.wal("auditor")
    op = log.invoke(log.name("poll"), run.ns(31))
    for number, read, position, how in [
        *((value % 2, value, value // 2, 0) for value in range(8)),
        (partition, value, 4, payload),
    ]:
        log.received(op, log.name("log-0"), number, 0, read, position, run.ns(0), run.ns(0), run.ns(32), how, 0)
    log.complete(op, run.ns(32), OUTCOMES.index("ok"), 0, NO_POSITION)
    run.audit(30, {("log-0", 0): Bounds(0, 5, True, 5), ("log-0", 1): Bounds(0, 4, True, 4)})

    verdict = run.judged(10, 1)

    assert verdict.verdict == "invalid"
    assert counts_of(verdict)[anomaly] == (1, False)


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize(("kill_s", "verdict"), [(10, "invalid"), (109, "valid")])
def test_a_loss_has_its_own_time(tmp_path: Path, record: str, kill_s: float, verdict: str) -> None:
    """Some messages a second in each of 16 partitions; the fault is minutes before, or at the time."""
    run = StoryRun(tmp_path, {**LOAD, "partitions": 16, "producer": {"acks": 1}, "duration": "120s"}, record)
    run.led("n1")
    run.led("n2", kill_s + 2)
    run.fault("kill", ("n1",), kill_s, kill_s + 4)
    lost = set(range(27_503, 27_503 + 16 * 5, 16))
    for value in range(30_000):
        run.send("producer-0", value, value * 0.004, value // 16)
    run.read_back(131, {value: value // 16 for value in range(30_000) if value not in lost}, end=1875)

    judged = run.judged(120, 250)

    assert judged.anomalies["lost"].count == 5
    assert judged.verdict == verdict


@pytest.mark.parametrize("record", RECORDS)
@pytest.mark.parametrize("first_ack_s", [40, 100])
def test_a_partition_that_was_not_served_was_unavailable(tmp_path: Path, record: str, first_ack_s: float) -> None:
    run = StoryRun(
        tmp_path, {**LOAD, "rate": 20, "partitions": 2, "duration": "60s"}, record, expect={"unavailable": "< 5s"}
    )
    run.led("n1")
    kept: dict[int, int] = {}
    for value in range(1200):
        due, position = value * 0.05, sum(one % 2 == value % 2 for one in kept)
        if value % 2 and due < first_ack_s:
            run.send("producer-0", value, due, outcome="info", took=30)
        else:
            run.send("producer-0", value, due, position)
            kept[value] = position
    run.read_back(130, kept)

    verdict = run.judged(60, 20)

    assert verdict.availability["longest_unavailable_ms"] == pytest.approx(min(first_ack_s, 60) * 1000, abs=100)
    assert not verdict.bounds["unavailable"].met


@pytest.mark.parametrize("record", RECORDS)
def test_an_acknowledgement_of_another_producer_ends_a_wait(tmp_path: Path, record: str) -> None:
    run = StoryRun(tmp_path, {**LOAD, "producers": 2, "rate": 40}, record, expect={"unavailable": "< 2s"})
    run.led("n1")
    kept: dict[int, int] = {}
    other = 1 << 40
    for value in range(200):
        at = value * 0.05
        for base in (0, other):
            if base and 2 < at < 7:
                run.send("producer-1", base + value, at, outcome="info", took=6)
                continue
            run.send(f"producer-{base >> 40}", base + value, at, len(kept))
            kept[base + value] = len(kept)
    run.read_back(30, kept)

    assert run.judged(10, 40, 2).bounds["unavailable"].met


def test_what_later_messages_outlived_is_not_explained(tmp_path: Path) -> None:
    """Messages of a tenth of a second are gone, and those after them are there: no election took them."""
    run = StoryRun(tmp_path, {**LOAD, "producer": {"acks": 1}, "duration": "60s"}, "latency")
    run.led("n1")
    run.led("n2", 42)
    run.fault("kill", ("n1",), 40, 44.0)
    kept = {}
    for value in range(6000):
        at = value * 0.01
        run.send("producer-0", value, at, value)
        if abs(at - 10) > 0.05:
            kept[value] = value
    run.read_back(70, kept, end=6000)

    verdict = run.judged(60, 100)

    assert verdict.verdict == "invalid"
    assert set(counts_of(verdict)) == {"lost"}


def test_a_reader_that_goes_back_or_passes_a_message_is_a_doubt(tmp_path: Path) -> None:
    for number, read in enumerate(([0, 1, 2, 1, 2, 3], [0, 1, 3], [0, 1, 2, 3])):
        run = StoryRun(tmp_path / str(number), LOAD, "latency")
        run.led("n1")
        for value in range(4):
            run.send("producer-0", value, value, value)
        run.op("consumer-0", "assign", 0)
        run.poll("consumer-0", 5, [(value, value) for value in read])
        run.read_back(30, {value: value for value in range(4)})

        assert run.judged(4, 1).verdict == ("valid" if number == 2 else "unknown"), read


@pytest.mark.parametrize("record", RECORDS)
def test_settings_that_lose_what_nobody_read_do_not_lose_what_was_read(tmp_path: Path, record: str) -> None:
    verdicts = {}
    for read in ([], [(0, 0), (1, 1)]):
        run = StoryRun(tmp_path / str(len(read)), {**LOAD, "producer": {"acks": 0}}, record)
        run.led("n1")
        run.fault("kill", ("n1",), 0.5, 1.5)
        for value in range(4):
            run.send("producer-0", value, 1 + value / 50, value)
        run.poll("consumer-0", 3.8, read)
        run.read_back(70, {})
        verdicts[len(read)] = run.judged(10, 100)

    assert verdicts[0].verdict == "valid"
    assert verdicts[2].verdict == "invalid"
    assert counts_of(verdicts[2])["truncated"] == (2, False)
