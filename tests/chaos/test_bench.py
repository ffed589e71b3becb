"""OMB's files on real clusters: the rate is kept, the result is whole, and nothing is lost."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from omb_files import DRIVER, PULSAR_DRIVER, ROCKETMQ_DRIVER, WORKLOAD

from chaoskit.base import yaml

pytestmark = [pytest.mark.chaos, pytest.mark.long]

_RATE = 2000
"""What a slow machine of two cores makes of every system of these, too."""
_WARM_UP_S = 5
_MEASUREMENTS = {"unavailable", "latency-outlier", "unowned"}
"""A busy machine may show these: they are of time alone."""
_OF_ROCKETMQ = _MEASUREMENTS | {"reordered", "sequence-jump", "reprocessed"}
"""RocketMQ promises no order to who sends without waiting, as OMB does. Each member of a group works out for itself
which queues are its own, so two may have one while they join."""


def _benched(
    folder: Path, workload: dict[str, Any], driver: dict[str, Any], duration: str, *options: str
) -> tuple[dict[str, Any], subprocess.CompletedProcess[str]]:
    """Run a workload with a driver; return the result, and what was said."""
    (folder / "work.yaml").write_text(yaml.dump({**WORKLOAD, **workload}))
    (folder / "driver.yaml").write_text(yaml.dump(driver))
    command = [str(Path(sys.executable).with_name("chaoskit")), "bench", "--lab", "--duration", duration]
    files = [str(folder / name) for name in ("driver.yaml", "work.yaml")]
    places = ["--warm-up", f"{_WARM_UP_S}s", "--out", str(folder / "results"), "--store", str(folder / "store")]
    done = subprocess.run([*command, *options, *places, *files], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (path,) = (folder / "results").glob(f"work-{driver['name']}-*.json")
    document = json.loads(path.read_text())
    assert len(document) == 62
    return document, done


def _counts(folder: Path, allowed: set[str] = _MEASUREMENTS) -> dict[str, int]:
    """Return the counts of the only run, which is valid and shows nothing but what is allowed."""
    (run,) = (folder / "store").glob("work-*/2*")
    verdict = json.loads((run / "verdict.json").read_text())
    assert (verdict["verdict"], verdict["anomalies"].keys() - allowed) == ("valid", set())
    counts: dict[str, int] = verdict["counts"]
    return counts


@pytest.mark.parametrize(
    ("driver", "options", "words"),
    [
        (DRIVER, (), "librdkafka has no such property"),
        (DRIVER, ("--java",), ""),
        (PULSAR_DRIVER, (), "client.ioThreads: pulsar-client, or the lab, has no such setting"),
        (PULSAR_DRIVER, ("--java",), ""),
        (ROCKETMQ_DRIVER, (), ""),
    ],
    ids=["librdkafka", "kafka-java", "pulsar-client", "pulsar-java", "rocketmq"],
)
def test_a_workload_of_omb_in_a_lab(
    tmp_path: Path, driver: dict[str, Any], options: tuple[str, ...], words: str
) -> None:
    document, done = _benched(tmp_path, {"producerRate": _RATE}, driver, "20s", *options)

    assert len(document["publishRate"]) == 2
    counts = _counts(tmp_path, _OF_ROCKETMQ if driver is ROCKETMQ_DRIVER else _MEASUREMENTS)
    # The probes of the final read come on top.
    assert counts["sent"] + counts["never_made"] == pytest.approx(_RATE * (_WARM_UP_S + 20), rel=0.02)
    # What a busy machine delays in the warm-up is made up for in the first period.
    assert sum(document["publishRate"]) / 2 == pytest.approx(_RATE, rel=0.25)
    assert sum(document["consumeRate"]) / 2 == pytest.approx(_RATE, rel=0.25)
    assert document["publishErrorRate"] == [0, 0]
    assert 0 < document["aggregatedPublishLatency50pct"] <= document["aggregatedEndToEndLatency99pct"]
    assert "valid" in done.stdout
    assert "Recording a message of 100 bytes takes" in done.stdout
    assert "unlike OMB: payloads are random" in done.stderr
    assert words in done.stderr
    assert ("has no such" in done.stderr) is bool(words), "systems' own clients have all settings"


@pytest.mark.parametrize("driver", [DRIVER, PULSAR_DRIVER], ids=["kafka", "pulsar"])
def test_two_subscriptions_let_a_backlog_wait_and_read_it(tmp_path: Path, driver: dict[str, Any]) -> None:
    rate, messages = 1000, 8000
    backlog = {"consumerBacklogSizeGB": messages * 100 / 2**30, "subscriptionsPerTopic": 2, "producerRate": rate}
    document, done = _benched(tmp_path, backlog, driver, "8s")

    (figures,) = re.findall(r"backlog of ([\d,]+) messages built in ([\d.]+) s, read in [\d.]+ s", done.stdout)
    assert messages <= int(figures[0].replace(",", "")) < messages + 2 * rate
    assert float(figures[1]) == pytest.approx(messages / rate / 2, abs=1.5), "each message waits for two subscriptions"
    assert document["backlog"][-1] < 2 * rate, "it was read"
    counts = _counts(tmp_path)
    assert counts["received"] >= 2 * counts["acked"], "both subscriptions receive everything"
