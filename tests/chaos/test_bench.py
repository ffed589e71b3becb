"""OMB's files on a real Kafka: the rate is kept, the result is whole, and nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from chaoskit.base import yaml

pytestmark = [pytest.mark.chaos, pytest.mark.long]

_RATE = 5000
_WORKLOAD = {
    "name": "1 topic / 6 partitions / 100b", "topics": 1, "partitionsPerTopic": 6, "messageSize": 100,
    "payloadFile": "payload/payload-100b.data", "subscriptionsPerTopic": 1, "consumerPerSubscription": 1,
    "producersPerTopic": 1, "producerRate": _RATE, "consumerBacklogSizeGB": 0, "testDurationMinutes": 15,
}  # fmt: skip
_DRIVER = {
    "name": "Kafka",
    "driverClass": "io.openmessaging.benchmark.driver.kafka.KafkaBenchmarkDriver",
    "replicationFactor": 3,
    "topicConfig": "min.insync.replicas=2\n",
    "commonConfig": "bootstrap.servers=localhost:9092\n",
    "producerConfig": "acks=all\nlinger.ms=1\nbatch.size=131072\n",
    "consumerConfig": "auto.offset.reset=earliest\nenable.auto.commit=false\n",
}


def test_a_workload_of_omb_in_a_lab(tmp_path: Path) -> None:
    (tmp_path / "work.yaml").write_text(yaml.dump(_WORKLOAD))
    (tmp_path / "kafka.yaml").write_text(yaml.dump(_DRIVER))
    command = [str(Path(sys.executable).with_name("chaoskit")), "bench", "--lab", "--duration", "20s"]
    files = [str(tmp_path / name) for name in ("kafka.yaml", "work.yaml")]
    places = ["--warm-up", "5s", "--out", str(tmp_path / "results"), "--store", str(tmp_path / "store")]

    done = subprocess.run([*command, *places, *files], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "results").glob("work-Kafka-*.json")
    document = json.loads(path.read_text())
    assert len(document) == 62
    assert len(document["publishRate"]) == 2
    assert sum(document["publishRate"]) / 2 == pytest.approx(_RATE, rel=0.02)
    assert sum(document["consumeRate"]) / 2 == pytest.approx(_RATE, rel=0.02)
    assert document["publishErrorRate"] == [0, 0]
    assert 0 < document["aggregatedPublishLatency50pct"] <= document["aggregatedEndToEndLatency99pct"]
    assert "valid" in done.stdout
    assert "unlike OMB: payloads are random" in done.stderr
