"""Runs are judged where no client library is installed: only runs need them, and say so before they start."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from chaoskit.base.installing import with_extra

SYSTEMS = ("kafka", "pulsar", "bookkeeper", "rabbitmq", "rocketmq", "mosquitto", "zenoh", "cyclonedds")

_WITHOUT = """
import sys
from importlib import metadata
from pathlib import Path

MISSING = {
    "confluent_kafka", "cyclonedds", "httpx", "kazoo", "paho", "pika", "pulsar", "_pulsar", "py4j", "rocketmq",
    "rstream", "zenoh",
}

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in MISSING:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name.partition(".")[0])

sys.meta_path.insert(0, Finder())
version = metadata.version
def version_of(package):
    if package in ("cyclonedds", "eclipse-zenoh"):
        raise metadata.PackageNotFoundError(package)
    return version(package)
metadata.version = version_of
"""

_PLANNED = """
from chaoskit.base.errors import BadInput
from chaoskit.contract.installed import ready_system, system
from chaoskit.scenario.files import find

for name in sys.argv[1:]:
    rules = system(name, "cluster.system").guarantees.rules
    found = find(rules[0].shown)
    assert found
    declared = found[0].planned(seed=1).declared
    assert any(rule.mechanisms(declared) for rule in rules), name
    try:
        ready_system(name, "cluster.system")
    except BadInput as error:
        print(error)
    else:
        print(name, "is ready")
"""

_JUDGED = """
from runs import StoryRun

StoryRun.cluster = {"system": "kafka", "hosts": 3, **eval(sys.argv[2])}
load = {"kind": "log", "producers": 1, "consumers": 1, "duration": "60s", "consumption": "assigned"}
run = StoryRun(Path(sys.argv[1]), load)
run.led("n1")
for value in range(10):
    run.send("producer-0", value, 1 + value, value)
run.read_back(70, {value: value for value in range(9)})
verdict = run.judged(60)
print(verdict.verdict, verdict.anomalies["lost"].count)
"""


def _printed(code: str, *arguments: str) -> list[str]:
    stories = f"sys.path.insert(0, {str(Path(__file__).parent / 'verdicts')!r})\n"
    command = [sys.executable, "-c", _WITHOUT + stories + code, *arguments]
    done = subprocess.run(command, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_scenarios_of_all_systems_are_planned_and_judged_by_their_rules_without_client_libraries() -> None:
    output = _printed(_PLANNED, *SYSTEMS)

    for name, line in zip(SYSTEMS, output, strict=True):
        if name == "rocketmq":
            assert line == "rocketmq is ready", "only scenarios with clients: python need its client"
        else:
            assert line.startswith(f"cluster.system: cluster {name!r} needs the package ")
            assert line.endswith(with_extra(name))


@pytest.mark.parametrize("cluster", [{}, {"attach": {"bootstrap.servers": "gone:9092", "ssl.ca.location": "/gone"}}])
def test_a_run_is_judged_without_client_libraries(tmp_path: Path, cluster: dict[str, object]) -> None:
    assert _printed(_JUDGED, str(tmp_path), repr(cluster)) == ["invalid 1"]
