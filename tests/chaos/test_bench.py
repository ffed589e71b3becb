"""OMB's files on a real Kafka: the rate is kept, the result is whole, and nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from omb_files import DRIVER, WORKLOAD

from chaoskit.base import yaml

pytestmark = [pytest.mark.chaos, pytest.mark.long]

_RATE = 5000


def test_a_workload_of_omb_in_a_lab(tmp_path: Path) -> None:
    (tmp_path / "work.yaml").write_text(yaml.dump({**WORKLOAD, "producerRate": _RATE}))
    (tmp_path / "kafka.yaml").write_text(yaml.dump(DRIVER))
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
