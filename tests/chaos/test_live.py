"""Live clusters: a test with a client of its own, faults by block, and what is left whatever becomes of the test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer
from machine import snapshot

from chaoskit import BadInput, FaultError, LiveCluster, ShareCluster
from chaoskit.base.waiting import wait_until
from chaoskit.run.heal import heal

pytestmark = [pytest.mark.chaos, pytest.mark.long]

_ROOT = Path(__file__).parents[2]
_QUICK = {"broker.session.timeout.ms": 3000, "broker.heartbeat.interval.ms": 500}


@pytest.fixture(scope="module")
def kafka(chaos_cluster: ShareCluster) -> Iterator[LiveCluster]:
    shared = chaos_cluster(system="kafka", hosts=3, config=_QUICK, topic={"min.insync.replicas": 2})
    with shared.up(producer={"acks": "all"}, faults=["wire"]) as live:
        yield live


class Client:
    """A client of the test's own, which says what it does."""

    def __init__(self, kafka: LiveCluster, topic: str, partitions: int = 1) -> None:
        self._topic = kafka.topic(topic, partitions=partitions)
        self._history = kafka.history
        self._producer = Producer({"bootstrap.servers": kafka.endpoints, "acks": "all", "log_level": 0}, logger=None)
        self._sent = 0

    def send(self, count: int = 1) -> None:
        """Send messages, and wait until they are acknowledged."""
        self.begin(count)
        self.flush()

    def flush(self) -> None:
        """Wait until all messages are acknowledged."""
        assert self._producer.flush(30) == 0

    def begin(self, count: int) -> None:
        """Send messages."""
        for number in range(self._sent, self._sent + count):
            payload = f"order {number}".encode()
            sending = self._history.sent(self._topic, number, payload=payload)

            def done(error: object, message: object, sending: object = sending) -> None:
                if error is None:
                    sending.ok(partition=message.partition(), position=message.offset())  # type: ignore[attr-defined]
                else:
                    sending.unknown(error)  # type: ignore[attr-defined]

            self._producer.produce(self._topic, payload, on_delivery=done)
        self._sent += count

    @contextmanager
    def busy(self) -> Iterator[None]:
        """Send all the time meanwhile."""
        over = threading.Event()

        def send() -> None:
            while not over.wait(0.05):
                self.send()

        thread = threading.Thread(target=send)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def test_the_leader_is_killed_under_a_client_of_the_tests_own(kafka: LiveCluster) -> None:
    client = Client(kafka, "orders", partitions=3)
    client.send(50)

    with kafka.fault("kill", on="leader", of="orders/0") as fault:
        client.send(50)
        assert "no process of the system is running" in fault.evidence

    assert "answering again" in fault.evidence
    assert kafka.wait_recovered() < 60
    run = kafka.judge()
    run.assert_valid()
    assert run.verdict.counts["acked"] >= 100
    assert run.anomalies["lost"].count == 0
    assert fault.targets[0] in {path.parent.name for path in kafka.logs.glob("*/*.log")}


def test_a_partition_and_single_messages(kafka: LiveCluster) -> None:
    client = Client(kafka, "payments")
    client.send(50)

    with kafka.fault("partition", on="leader", of="payments/0") as cut:
        client.begin(50)
    client.flush()
    assert "packets of the system were blocked" in cut.evidence
    with (
        client.busy(),
        kafka.fault("wire", on="all", message="Produce", of="response", then="delay 1s", count=1) as wire,
    ):
        pass

    assert "Produce" in wire.evidence
    kafka.wait_recovered()
    kafka.judge().assert_valid()


def test_a_loss_that_settings_allow_is_not_valid_where_none_is_expected(chaos_cluster: ShareCluster) -> None:
    one = chaos_cluster(system="kafka", hosts=1)
    with one.up(producer={"acks": "all"}, expect={"lost": "none"}) as kafka:
        client = Client(kafka, "cut")
        client.send(200)
        with kafka.fault("power-cut", on="leader", of="cut/0"):
            pass

        run = kafka.judge()

    lost = run.anomalies["lost"]
    assert (lost.count > 0, lost.allowed) == (True, False)
    with pytest.raises(AssertionError, match="LOST"):
        run.assert_valid()


def test_a_fault_without_effect_fails_with_its_reason(kafka: LiveCluster) -> None:
    with (
        kafka.fault("pause", on="n1"),
        pytest.raises(FaultError, match=r"kill on n1: no effect: already under a fault: n1 \(by pause"),
        kafka.fault("kill", on="n1"),
    ):
        pass
    kafka.wait_recovered()


def test_a_test_that_fails_leaves_a_healed_cluster_and_its_folder(kafka: LiveCluster) -> None:
    with pytest.raises(ZeroDivisionError), kafka.fault("kill", on="n2") as fault:
        raise ZeroDivisionError

    assert "answering again: n2" in fault.evidence
    kafka.wait_recovered()
    assert '"event": "FaultHealed"' in (kafka.folder / "events.jsonl").read_text()


def test_what_chaoskit_feeds_is_drained_and_judged(kafka: LiveCluster) -> None:
    kafka.topic("fed", partitions=2)

    fed = kafka.feed("fed", [f"input {number}".encode() for number in range(100)], rate=200)
    records = kafka.drain("fed")

    assert len(fed.acked) == len(records) == 100
    with kafka.fault("pause", on="n3"), pytest.raises(BadInput, match="pause on n3 still holds; heal it first"):
        kafka.judge()
    run = kafka.judge()
    assert run.anomalies["lost"].count == 0
    assert run.verdict.counts["received"] >= 100


TESTS = """
    import signal
    import time
    from pathlib import Path

    import pytest

    def _too_long(*_):
        pytest.fail("it took too long")  # as pytest-timeout does

    @pytest.fixture(scope="session")
    def live(chaos_cluster):
        with chaos_cluster(system="kafka", hosts=1).up() as one:
            yield one

    @pytest.mark.chaos
    @pytest.mark.parametrize("number", [0, 1])
    def test_one(live, number):
        with live.fault("pause", on="n1"):
            Path(f"begun-{number}").touch()
            if Path("hangs").exists():
                signal.signal(signal.SIGALRM, _too_long)
                signal.alarm(1)
            time.sleep(LASTS)
        assert number or not Path("fails").exists()
"""


@pytest.fixture
def run(pytester: pytest.Pytester, own_state: Path) -> Callable[..., subprocess.Popen[str]]:
    """Run pytest in a process of its own."""

    def start(lasts: int, *arguments: str) -> subprocess.Popen[str]:
        pytester.makepyfile(TESTS.replace("LASTS", str(lasts)))
        command = [sys.executable, "-m", "pytest", "-m", "chaos", "-q", *arguments]
        paths = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
        environment = {**os.environ, "PYTHONPATH": paths}
        return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment)

    return start


def test_kill_9_of_pytest_leaves_nothing_after_heal(
    pytester: pytest.Pytester, run: Callable[..., subprocess.Popen[str]]
) -> None:
    before = snapshot()
    process = run(60)
    assert wait_until((pytester.path / "begun-0").exists, 60)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert snapshot() != before

    assert heal()

    assert snapshot() == before
    assert heal() == []


def test_the_usual_ways_of_choosing_tests(pytester: pytest.Pytester, run: Callable[..., subprocess.Popen[str]]) -> None:
    before = snapshot()
    fails, begun = pytester.path / "fails", pytester.path / "begun-1"
    fails.touch()

    assert "1 failed" in run(0, "-x").communicate(timeout=120)[0]
    assert not begun.exists()
    fails.unlink()
    assert "1 passed" in run(0, "--lf").communicate(timeout=120)[0]
    assert not begun.exists()
    assert "1 passed, 1 deselected" in run(0, "-k", "1").communicate(timeout=120)[0]
    assert begun.exists()
    assert snapshot() == before


def test_a_test_that_takes_too_long_fails_healed(
    pytester: pytest.Pytester, run: Callable[..., subprocess.Popen[str]]
) -> None:
    before = snapshot()
    (pytester.path / "hangs").touch()

    out, _ = run(60, "-k", "0").communicate(timeout=120)

    assert "it took too long" in out
    assert snapshot() == before
    (events,) = (pytester.path / "chaos-store" / "live").glob("*-*/events.jsonl")
    assert '"event": "FaultHealed"' in events.read_text()


def test_ctrl_c_heals_and_cleans(pytester: pytest.Pytester, run: Callable[..., subprocess.Popen[str]]) -> None:
    before = snapshot()
    process = run(60, "-k", "0")
    assert wait_until((pytester.path / "begun-0").exists, 60)

    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)

    assert "KeyboardInterrupt" in out
    assert snapshot() == before


def test_two_workers_have_a_cluster_each_at_the_same_time(
    pytester: pytest.Pytester, run: Callable[..., subprocess.Popen[str]]
) -> None:
    before = snapshot()

    out, _ = run(1, "-n", "2").communicate(timeout=120)

    assert "2 passed" in out
    assert snapshot() == before
    folders = list((pytester.path / "chaos-store" / "live").glob("*-*"))
    assert len(folders) == 2
    begun = [json.loads((folder / "wal" / "origin.json").read_text())["monotonic_ns"] for folder in folders]
    ended = [start + _last_ns(folder) for start, folder in zip(begun, folders, strict=True)]
    assert max(begun) < min(ended)


def _last_ns(folder: Path) -> int:
    """Return when the last event of a run was, ns since its start."""
    return int(json.loads((folder / "events.jsonl").read_text().splitlines()[-1])["at_ns"])
