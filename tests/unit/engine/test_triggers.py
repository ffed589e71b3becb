"""Faults that begin once something is true: what may be written, what they wait for, and how they are repeated."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from paper import PaperCluster
from samples import plan
from stage import Stage

from chaoskit.contract.event import FaultDropped
from chaoskit.contract.hosts.host import CommandResult, HostError
from chaoskit.contract.power import P, PowerMissing
from chaoskit.contract.systems.installation import Installation
from chaoskit.history.compacting.placements import Standing
from chaoskit.history.format.fault import Fault
from chaoskit.model.place import Place
from chaoskit.model.progress import Progress
from chaoskit.run.faults.triggering import Triggers
from chaoskit.scenario.timeline import PlannedFault

SLOW = {"at": "1s", "id": "slow", "inject": "disk-slow", "on": "follower", "write_bandwidth": "1MiB", "for": "5s"}
CUT = {"inject": "power-cut", "on": "leader", "for": "1s"}
PLACE: Place = ("log-0", 0)


def test_a_key_of_a_kind_that_is_called_within_stays_its_own() -> None:
    (fault,) = plan([{"at": "1s", "inject": "zombie", "on": "leader", "within": "7s"}]).faults

    assert fault.parameters == {"within": "7s"}
    assert fault.trigger is None


def _triggered(**keys: Any) -> PlannedFault:
    return next(fault for fault in plan([SLOW, {**CUT, **keys}]).faults if fault.kind == "power-cut")


@pytest.mark.parametrize(
    "keys",
    [
        {"after": {"fault": "slow", "is": "consequence", "delay": "2s"}, "within": "30s"},
        {"after": {"fault": "slow", "is": "healed"}},
        {"when": {"out_of_sync": "any"}, "expect": {"consequence": "new-leader"}},
        {"when": {"log": "shrinking ISR", "on": "n1"}, "id": "cut"},
    ],
)
def test_what_is_recorded_waits_for_the_same_again(keys: dict[str, Any]) -> None:
    fault = _triggered(**keys)

    entry = fault.as_spec(["n1"])

    assert {key: entry[key] for key in keys} == keys
    assert "at" not in entry
    again = next(fault for fault in plan([SLOW, {**entry, "began": "9s"}]).faults if fault.kind == "power-cut")
    assert (again.trigger, again.expect, again.id) == (fault.trigger, fault.expect, fault.id)


def test_faults_that_wait_come_after_the_others_in_a_plan() -> None:
    faults = plan([{**CUT, "when": {"acked": 5}}, SLOW, {**CUT, "at": "0s"}]).faults

    assert [(fault.kind, fault.trigger is not None) for fault in faults] == [
        ("power-cut", False), ("disk-slow", False), ("power-cut", True),
    ]  # fmt: skip


class Load:
    """A system that is seen, and a load, as somebody says."""

    def __init__(self) -> None:
        self.standings: dict[Place, list[Standing]] = {}
        self.progress = Progress()
        self.looked = 0
        self.log = b""

    def soon(self) -> None:
        self.looked += 1

    def stood(self, at_s: float, leader: str, in_sync: str) -> None:
        everywhere = frozenset(["n1", "n2", "n3"])
        standing = Standing(int(at_s * 1e9), leader, everywhere, frozenset(in_sync.split()), 1)
        self.standings.setdefault(PLACE, []).append(standing)


class LoggingHost:
    """A host with the log of one service."""

    name = "n1"

    def __init__(self, load: Load) -> None:
        self._load = load
        self.dark = False

    def log_path(self, name: str) -> str:
        return f"/logs/{name}"

    def run(self, argv: Sequence[str], **_: Any) -> CommandResult:
        if self.dark:
            raise HostError("n1 has no power")
        if argv[0] == "stat":
            return CommandResult(0, f"{len(self._load.log)}\n", "")
        return CommandResult(0, self._load.log[int(argv[2]) - 1 :].decode(), "")


class Running:
    """A system with one service on each host."""

    def power(self, kind: type[P]) -> P:
        if kind is Installation:
            return self  # type: ignore[return-value]
        raise PowerMissing(kind.__name__)

    def services(self, host: Any) -> tuple[str, ...]:
        return ("broker",)


class Waiting:
    """A fault that waits in a thread of its own."""

    def __init__(self, load: Load, fault: PlannedFault, host: Any = None) -> None:
        self.now_ns = 10 * 10**9
        self.over = threading.Event()
        self.told: list[str] = []
        hosts = [host or LoggingHost(load)]
        self.triggers = Triggers(load, lambda: load.progress, Running(), hosts, lambda: self.now_ns)  # type: ignore[arg-type]
        self._thread = threading.Thread(target=lambda: self.told.append(self.triggers.wait(fault, self.over)))
        self._thread.start()

    def still(self) -> bool:
        """Return whether it still waits, after it has looked again."""
        self._thread.join(0.5)
        return self._thread.is_alive()

    def end(self) -> str:
        self._thread.join(30)
        assert not self._thread.is_alive()
        return self.told[0]


def test_when_a_host_has_fallen_out_of_sync() -> None:
    load = Load()
    load.stood(1, "n1", "n1 n2 n3")
    waiting = Waiting(load, _triggered(when={"out_of_sync": "n2"}))
    assert waiting.still()
    load.stood(11, "n1", "n1 n2")
    assert waiting.still(), "n3 fell out, not n2"
    load.stood(12, "n1", "n1")

    assert waiting.end() == "n2 fell out of sync with log-0/0 at 12.0 s"
    assert load.looked > 0


def test_a_host_that_is_back_in_sync_is_not_out_of_it() -> None:
    load = Load()
    for at_s, in_sync in ((1, "n1 n2"), (2, "n1"), (3, "n1 n2")):
        load.stood(at_s, "n1", in_sync)
    waiting = Waiting(load, _triggered(when={"out_of_sync": "any"}))

    assert waiting.still()
    waiting.over.set()
    assert waiting.end() == ""


def test_when_a_host_is_back_in_sync_with_all_of_its_partitions() -> None:
    load = Load()
    load.stood(1, "n1", "n1 n2")
    waiting = Waiting(load, _triggered(when={"in_sync": "n2"}))
    assert waiting.still(), "it was never out of sync"
    load.stood(5, "n1", "n1")
    other = Standing(5 * 10**9, "n1", frozenset(["n1", "n2"]), frozenset(["n1", "n2"]), 1)
    load.standings["log-0", 1] = [other, other._replace(at_ns=6 * 10**9, in_sync=frozenset(["n1"]))]
    assert waiting.still(), "it is out of sync"
    load.stood(7, "n1", "n1 n2")
    assert waiting.still(), "it lacks one partition"
    load.standings["log-0", 1].append(other._replace(at_ns=8 * 10**9))

    assert waiting.end() == "n2 was in sync again with all of its partitions"


@pytest.mark.parametrize(
    ("when", "progress", "words"),
    [
        ({"acked": 10}, Progress(acked=12), "12 sends were acknowledged"),
        ({"lag": 5}, Progress(acked=12, received=7), "5 acknowledged messages were not received yet"),
    ],
)
def test_when_the_load_has_come_so_far(when: dict[str, int], progress: Progress, words: str) -> None:
    load = Load()
    waiting = Waiting(load, _triggered(when=when))
    assert waiting.still()
    load.progress = progress

    assert waiting.end() == words


def test_when_a_host_leads() -> None:
    load = Load()
    load.stood(1, "n1", "n1 n2")
    waiting = Waiting(load, _triggered(when={"leader": "n2"}))
    assert waiting.still()
    load.stood(2, "n2", "n1 n2")

    assert waiting.end() == "n2 leads log-0/0"


def test_when_a_line_is_logged_that_was_not_there_before() -> None:
    load = Load()
    load.log = b"Shrinking ISR from 1,2 to 1\n"
    host = LoggingHost(load)
    waiting = Waiting(load, _triggered(when={"log": "Shrinking ISR"}), host)
    assert waiting.still()
    host.dark = True
    assert waiting.still()
    load.log += b"nothing\nShrinking ISR from 1,3 to 1\n"
    host.dark = False

    assert waiting.end() == "n1 logged: Shrinking ISR from 1,3 to 1"


def _slow(**more: Any) -> tuple[PlannedFault, Fault]:
    planned = next(fault for fault in plan([{**SLOW, **more}]).faults)
    return planned, Fault(0, "disk-slow", 10 * 10**9, targets=("n2",))


@pytest.mark.parametrize(("reached", "attribute"), [("effective", "effective_ns"), ("healed", "healed_ns")])
def test_after_another_fault_has_come_so_far(reached: str, attribute: str) -> None:
    load = Load()
    waiting = Waiting(load, _triggered(after={"fault": "slow", "is": reached}))
    assert waiting.still()
    planned, fault = _slow()
    waiting.triggers.began(planned, fault)
    assert waiting.still()
    setattr(fault, attribute, 11 * 10**9)

    assert waiting.end().startswith("slow ")


@pytest.mark.parametrize(
    ("progress", "words"),
    [
        (Progress(acked=5, failed=3), "slow had a consequence: 3 sends were not acknowledged"),
        (Progress(acked=5), "slow had a consequence: no send was acknowledged for a second"),
    ],
)
def test_after_another_fault_has_had_a_consequence_for_clients(progress: Progress, words: str) -> None:
    load = Load()
    waiting = Waiting(load, _triggered(after={"fault": "slow", "is": "consequence"}))
    load.progress = Progress(acked=5)
    waiting.triggers.began(*_slow())
    assert waiting.still()
    load.progress = progress
    waiting.now_ns += 2 * 10**9

    assert waiting.end() == words


def test_a_consequence_that_is_expected_is_waited_for_itself() -> None:
    load = Load()
    load.stood(1, "n1", "n1 n2")
    waiting = Waiting(load, _triggered(after={"fault": "slow", "is": "consequence"}))
    waiting.triggers.began(*_slow(expect={"consequence": "out-of-sync"}))
    load.progress = Progress(failed=3)
    assert waiting.still(), "sends that failed are not what was expected"
    load.stood(12, "n1", "n1")

    assert waiting.end() == "slow had a consequence: n2 fell out of sync with log-0/0 at 12.0 s"


def test_what_changed_before_the_fault_is_no_consequence() -> None:
    load = Load()
    load.stood(1, "n1", "n1 n2")
    load.stood(9, "n1", "n1")
    waiting = Waiting(load, _triggered(after={"fault": "slow", "is": "consequence"}))
    waiting.triggers.began(*_slow())

    assert waiting.still()
    waiting.over.set()
    assert waiting.end() == ""


def test_a_fault_waits_only_within_its_time() -> None:
    waiting = Waiting(Load(), _triggered(when={"acked": 10}, within="3s"))
    assert waiting.still()
    waiting.now_ns += 4 * 10**9

    assert waiting.end() == ""


def test_the_time_of_a_fault_that_waits_for_another_begins_with_that_one() -> None:
    load = Load()
    waiting = Waiting(load, _triggered(after={"fault": "slow", "is": "healed"}, within="3s"))
    waiting.now_ns += 60 * 10**9
    assert waiting.still()
    planned, fault = _slow()
    fault.start_ns = waiting.now_ns
    waiting.triggers.began(planned, fault)
    assert waiting.still()
    waiting.now_ns += 4 * 10**9

    assert waiting.end() == ""


def test_a_delay_begins_when_it_has_come_true() -> None:
    waiting = Waiting(Load(), _triggered(after={"fault": "slow", "is": "effective", "delay": "1s"}))
    planned, fault = _slow()
    fault.effective_ns = 1
    began = time.monotonic()
    waiting.triggers.began(planned, fault)

    assert waiting.end() == "slow had taken effect"
    assert time.monotonic() - began >= 1


def test_a_fault_whose_trigger_does_not_come_true_is_dropped_and_leaves_a_doubt(tmp_path: Path) -> None:
    stage = Stage(tmp_path, PaperCluster(), [{"inject": "kill", "on": "n2", "for": "20ms", "when": {"acked": 5}}])
    stage.conductor.course.triggers = Triggers(Load(), Progress, Running(), [], time.monotonic_ns)  # type: ignore[arg-type]
    stage.start()
    stage.conductor.load_is_over()

    assert stage.end() == []
    assert stage.conductor.missed == ["kill was dropped: its trigger (when acked: 5) did not occur"]
    assert [type(event) for event in stage.events] == [FaultDropped]


def test_a_fault_that_begins_tells_why_in_its_evidence(tmp_path: Path) -> None:
    load = Load()
    load.progress = Progress(acked=7)
    stage = Stage(tmp_path, PaperCluster(), [{"inject": "kill", "on": "n2", "for": "20ms", "when": {"acked": 5}}])
    stage.conductor.course.triggers = Triggers(load, lambda: load.progress, Running(), [], time.monotonic_ns)  # type: ignore[arg-type]

    (fault,) = stage.perform()

    assert fault["evidence"].startswith("began once 7 sends were acknowledged; no process of the system is running")
    (entry,) = stage.timeline()["faults"]
    assert entry["when"] == {"acked": 5}
    assert "began" in entry
