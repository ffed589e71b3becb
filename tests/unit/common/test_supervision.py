"""A supervisor starts services again that exited or hung, and tells when that was."""

from __future__ import annotations

import time
from typing import Any

import pytest

from chaoskit.contract.hosts.host import CommandResult, ServiceState
from chaoskit.contract.systems.service import ServiceError
from clusters.common.supervision import Supervisor, last_errors


class Host:
    """A host whose only service is in a given state, and wrote to its log 20 s ago."""

    name = "n1"

    def __init__(self, state: ServiceState) -> None:
        self._state = state

    def state(self, service: str) -> ServiceState:
        return self._state

    def signal(self, service: str, signal: str) -> None:
        self._state = ServiceState.GONE

    def log_path(self, service: str) -> str:
        return "/var/log/bookie.log"

    def run(self, argv: list[str], **options: Any) -> CommandResult:
        return CommandResult(0, "20\n" if "quiet" in argv else "ERROR no quorum\n", "")


def _supervised(state: ServiceState, *, served: bool = True) -> tuple[Supervisor, list[str], Any]:
    spawned: list[str] = []
    supervisor = Supervisor(lambda _, service: spawned.append(service), ("n2",))
    supervisor.served = served
    host: Any = Host(state)
    return supervisor, spawned, host


def test_a_service_that_exited_is_started_again_and_told_with_the_time_of_its_end() -> None:
    supervisor, spawned, host = _supervised(ServiceState.GONE)
    supervisor.look_after([(host, "bookie")])

    (revival,) = supervisor.revivals
    assert spawned == ["bookie"]
    assert (revival.host, revival.service, revival.needs) == ("n1", "bookie", ("n2",))
    assert revival.why == "exited; ERROR no quorum"
    assert (time.monotonic_ns() - revival.at_ns) / 1e9 == pytest.approx(20, abs=5)


def test_one_that_is_silent_for_long_is_killed_and_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusters.common.supervision._SILENT_S", 0)
    supervisor, spawned, host = _supervised(ServiceState.RUNNING)
    supervisor.look_after([(host, "bookie")])

    assert spawned == ["bookie"]
    assert supervisor.revivals[0].why.startswith("did not answer for 0 s")


def test_silence_counts_from_the_beginning_of_a_wait() -> None:
    supervisor, spawned, host = _supervised(ServiceState.RUNNING)
    supervisor.look_after([(host, "bookie")])
    supervisor.begin()
    supervisor.look_after([(host, "bookie")])

    assert spawned == []


def test_what_exits_before_the_cluster_ever_served_is_a_wrong_setting_the_second_time() -> None:
    supervisor, _, host = _supervised(ServiceState.GONE, served=False)
    supervisor.look_after([(host, "bookie")])

    assert supervisor.revivals == []
    with pytest.raises(ServiceError, match="exited unexpectedly"):
        supervisor.look_after([(host, "bookie")])


FULL = """\
[2026-11-22 12:00:00,019] INFO event failed with NotControllerException in 56 microseconds. (QuorumController)
[2026-11-22 12:00:01,250] ERROR Error while appending records to log-0-0 in dir /data/kafka (LogDirFailureChannel)
java.io.IOException: No space left on device
\tat java.base/sun.nio.ch.FileDispatcherImpl.write0(Native Method)
\tat org.apache.kafka.common.errors.KafkaStorageException.anything(KafkaStorageException.java:7)
[2026-11-22 12:00:01,260] ERROR Error while appending records to log-0-0 in dir /data/kafka (LogDirFailureChannel)
java.io.IOException: No space left on device
[2026-11-22 12:00:02,001] ERROR Shutdown broker because all log dirs in /data/kafka have failed (kafka.log.LogManager)
"""


def test_errors_are_told_once_with_their_exception_and_without_frames() -> None:
    class Full(Host):
        def run(self, argv: list[str], **options: Any) -> CommandResult:
            return CommandResult(0, FULL, "")

    host: Any = Full(ServiceState.GONE)

    assert [line.partition("] ")[2] or line for line in last_errors(host, "kafka").splitlines()] == [
        "ERROR Error while appending records to log-0-0 in dir /data/kafka (LogDirFailureChannel)",
        "java.io.IOException: No space left on device",
        "ERROR Shutdown broker because all log dirs in /data/kafka have failed (kafka.log.LogManager)",
    ]


def test_a_log_without_an_error_is_told_by_its_end() -> None:
    class Silent(Host):
        def run(self, argv: list[str], **options: Any) -> CommandResult:
            return CommandResult(0, "there is no setting with that name.\n" if argv[0] == "tail" else "", "")

    host: Any = Silent(ServiceState.GONE)

    assert last_errors(host, "rabbitmq") == "there is no setting with that name."
