"""kill -9 of the harness in the middle of a fault of each family: `heal` leaves the machine as it was."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from machine import snapshot

from chaoskit.run.heal import heal

pytestmark = pytest.mark.usefixtures("own_state")

_HARNESS = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from echo import EchoCluster
from trial import strike_of
from chaoskit.base import plugins
from chaoskit.base.journal import Journal
from clusters.hosts.lab import LocalOptions, LocalProvider
kind, disk, parameters = sys.argv[2], json.loads(sys.argv[3]), json.loads(sys.argv[4])
nemesis = plugins.load("nemesis", kind, "kind")
provider = LocalProvider()
options = LocalOptions.model_validate({"size": "512MiB", **disk})
with Journal("test-killed") as journal:
    lab = provider.provision(journal, 2, options, (*nemesis.host_powers, *nemesis.disk_powers))
    cluster = EchoCluster(lab.hosts)
    while not all(map(cluster.answers, lab.hosts)):
        time.sleep(0.01)
    strike = strike_of(nemesis, lab.hosts[:1], cluster, **parameters)
    nemesis.inject(strike)
    print(nemesis.verify(strike), flush=True)
    time.sleep(600)
"""
_PROGRAMMABLE = '{"kind": "programmable"}'


@pytest.mark.parametrize(
    ("kind", "disk", "parameters"),
    [
        ("kill", "{}", "{}"),
        ("pause", "{}", "{}"),
        ("stall", "{}", "{}"),
        ("cpu-starve", "{}", '{"cores": 0.1}'),
        ("memory-pressure", "{}", "{}"),
        ("partition", "{}", "{}"),
        ("packet-delay", "{}", '{"delay": "20ms"}'),
        ("bandwidth", "{}", '{"rate": "1MiB"}'),
        ("power-cut", "{}", "{}"),
        ("disk-slow", "{}", '{"write_bandwidth": "1MiB"}'),
        ("disk-freeze", "{}", "{}"),
        ("disk-dead", "{}", "{}"),
        ("disk-freeze", _PROGRAMMABLE, "{}"),
        ("fsync-lies", _PROGRAMMABLE, "{}"),
        ("clock-jump", "{}", '{"by": "1h"}'),
    ],
)
def test_heal_restores_the_machine_after_kill_9_in_a_fault(kind: str, disk: str, parameters: str) -> None:
    before = snapshot()
    tests = str(Path(__file__).parents[1])
    argv = [sys.executable, "-c", _HARNESS, tests, kind, disk, parameters]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline().strip(), "no evidence of an effect"
        harness.send_signal(signal.SIGKILL)

    assert snapshot() != before
    assert any("interface" in item for item in heal())
    assert snapshot() == before
    assert heal() == []
