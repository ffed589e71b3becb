"""Taps on a real host, and what they do to single messages."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from frames import PORT, SERVICE, Client, FramesCluster
from killing import DEAD_MAN_S, start_harness
from trial import fault as network_fault
from trial import strike_of

from chaoskit.base.journal import Journal
from chaoskit.contract.faults.nemesis import NemesisError
from chaoskit.contract.hosts.host import PowerSwitch, ServiceHost
from clusters.hosts.lab import LocalOptions, LocalProvider
from nemeses.network.connections import ResetConnections
from nemeses.network.packets import PacketDelay
from nemeses.network.partition import Partition
from nemeses.wire import fault, placing
from nemeses.wire.fault import WireFault


@pytest.fixture(scope="module")
def frames(shared_journal: Journal) -> Iterator[FramesCluster]:
    """A host with a server, behind a tap that was there before."""
    lab = LocalProvider().provision(shared_journal, 1, LocalOptions.model_validate({"size": "256MiB"}))
    cluster = FramesCluster(lab.hosts)
    WireFault().precede(cluster, lab.hosts)
    cluster.start(lab.hosts[0])
    yield cluster
    lab.close()


@contextmanager
def wired(cluster: FramesCluster, *, of: str = "request", **parameters: Any) -> Iterator[list[str]]:
    """Hold a fault on the messages `Produce`; the list has its evidence of healing afterwards."""
    nemesis = WireFault()
    strike = strike_of(nemesis, cluster.hosts, cluster, **{"message": "Produce", "of": of, **parameters})
    reports: list[str] = []
    nemesis.inject(strike)
    try:
        yield reports
        reports.append(nemesis.verify(strike).sentence)
    finally:
        nemesis.heal(strike)
        reports.append(nemesis.verify_healed(strike).sentence)
        nemesis.heal(strike)


def state(host: ServiceHost) -> dict[str, Any]:
    reported = placing.call(host, {})
    assert reported is not None
    return reported


def test_connections_pass_with_their_addresses(frames: FramesCluster) -> None:
    host = frames.hosts[0]
    before = state(host)["messages"]
    with Client(host) as client:
        assert [client.ask("Fetch") for _ in range(20)][-1] == (20, client.count("Fetch") - 1)

        assert state(host)["connections"] == 1
        assert state(host)["messages"] == before + 42
        assert host.run(["tail", "-n1", host.log_path(SERVICE)]).out == f"from {client.address}\n"


def test_a_large_message_passes(frames: FramesCluster) -> None:
    with Client(frames.hosts[0]) as client:
        assert client.send("Fetch", 50_000_000) == 1
        assert client.answer(60) is not None


def test_an_answer_is_dropped_and_the_connection_closed(frames: FramesCluster) -> None:
    host = frames.hosts[0]
    with Client(host) as client:
        before = client.count("Produce")
    with wired(frames, of="response", every=3, then="drop-and-close") as reports:
        with Client(host) as client:
            assert [client.ask("Produce") for _ in range(3)] == [(1, before + 1), (2, before + 2), None]
        with Client(host) as client:
            assert client.count("Produce") == before + 4, "the one without an answer was done"

    words = "n1: 1 of 4 Produce responses dropped, each with its connection closed (correlation ids 3 after 0."
    meanwhile, healed = reports
    assert meanwhile.startswith(f"so far {words}")
    assert healed.startswith(words)
    assert healed.endswith(" s); the rule has ended, and nothing is held back")


def test_a_request_is_dropped_before_it_is_done(frames: FramesCluster) -> None:
    host = frames.hosts[0]
    with Client(host) as client:
        before = client.count("Produce")
    with wired(frames, then="close-before", count=1), Client(host) as client, pytest.raises(ConnectionResetError):
        client.ask("Produce")
    with Client(host) as client:
        assert client.count("Produce") == before + 1


def test_a_request_is_done_without_an_answer(frames: FramesCluster) -> None:
    host = frames.hosts[0]
    with Client(host) as client:
        before = client.count("Produce")
    with wired(frames, then="close-after", count=1), Client(host) as client:
        assert client.ask("Produce") is None
    with Client(host) as client:
        assert client.count("Produce") == before + 2


def test_a_request_is_done_twice(frames: FramesCluster) -> None:
    host = frames.hosts[0]
    with wired(frames, then="duplicate", which=[2]), Client(host) as client:
        first, second = client.count("Produce"), client.count("Produce")
        assert client.answer() == (2, second + 1)
    assert second == first + 1


def test_an_answer_is_delayed_and_those_behind_it_wait(frames: FramesCluster) -> None:
    with wired(frames, of="response", then="delay 300ms", count=1), Client(frames.hosts[0]) as client:
        began = time.monotonic()
        client.send("Produce")
        client.send("Fetch")
        answers = [client.answer(), client.answer()]
        took_s = time.monotonic() - began
    assert [answer and answer[0] for answer in answers] == [1, 2]
    assert took_s > 0.3


def test_an_answer_waits_for_another_request(frames: FramesCluster) -> None:
    host = frames.hosts[0]
    with wired(frames, of="response", then="hold-until Metadata", count=1), Client(host) as client:
        client.send("Produce")
        while not state(host)["held"]:
            time.sleep(0.01)
        assert not client.has_answer()
        with Client(host) as other:
            assert other.ask("Metadata") is not None
        assert client.answer() is not None


def test_what_is_held_back_is_delivered_by_the_healing(frames: FramesCluster) -> None:
    host = frames.hosts[0]
    with Client(host) as client:
        with wired(frames, of="response", then="hold-until Vote"):
            client.send("Produce")
            while not state(host)["held"]:
                time.sleep(0.01)
        assert client.answer() is not None
        assert client.ask("Produce") is not None


def test_only_the_client_that_is_meant_is_hit(frames: FramesCluster) -> None:
    host = frames.hosts[0]
    with wired(frames, of="response", of_client="app-*", then="drop-and-close"):
        with Client(host, "other") as client:
            assert client.ask("Produce") is not None
        with Client(host, "app-7") as client:
            assert client.ask("Produce") is None


def test_no_message_is_no_effect(frames: FramesCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fault, "_EFFECT_S", 0.2)
    words = "the rule was applied to no message within 0.2 s: n1: 0 of 0 Produce requests dropped"

    with pytest.raises(NemesisError, match=words), wired(frames, then="drop"):
        pass


def test_a_server_that_is_away_resets_the_connection(frames: FramesCluster) -> None:
    host = frames.hosts[0]
    host.signal(SERVICE, "KILL")
    try:
        with pytest.raises(OSError, match="reset"), Client(host) as client:
            client.ask("Fetch")
    finally:
        frames.start(host)


def test_many_connections_at_once(frames: FramesCluster) -> None:
    host = frames.hosts[0]
    answered = []

    def load() -> None:
        for _ in range(20):
            with Client(host) as client:
                answered.append(all(client.ask("Fetch") for _ in range(10)))

    threads = [threading.Thread(target=load) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answered == [True] * 200
    assert state(host)["connections"] < 3


def test_without_the_process_connections_go_directly_and_a_new_tap_catches_them(frames: FramesCluster) -> None:
    host = frames.hosts[0]
    host.run(["sh", "-c", "kill -9 $(cat /run/chaoskit/wire/tap.pid); while ss -Hltn | grep -q :7457; do :; done"])
    with Client(host) as client:
        assert client.ask("Fetch") is not None
        assert placing.call(host, {}) is None

        with wired(frames, of="response", then="drop-and-close") as reports:
            with pytest.raises(OSError, match="reset"):
                client.ask("Produce")
            with Client(host) as again:
                assert again.ask("Produce") is None
    assert "1 connections of n1 had bypassed the tap and were reset" in reports[0]
    assert f":{PORT}" in host.run(["ss", "-Hltn"]).out


def test_a_killed_harness_leaves_a_tap_that_holds_nothing_back(frames: FramesCluster) -> None:
    host = frames.hosts[0]
    harness = start_harness("wire", frames.hosts, message="Produce", of="response", then="hold-until Vote")
    assert harness.stdout is not None
    with Client(host) as client, Client(host) as other, harness, harness.stdout:
        try:
            while not state(host)["rules"]:
                time.sleep(0.01)
            client.send("Produce")
            assert harness.stdout.readline() == "held\n"
            time.sleep(2 * DEAD_MAN_S)
            assert not client.has_answer(), "a live harness holds it"
        finally:
            harness.kill()

        assert client.answer(DEAD_MAN_S + 20) is not None
        assert client.ask("Produce") is not None
        assert other.ask("Fetch") is not None
        assert state(host)["rules"] == []
        assert state(host)["held"] == 0
        assert state(host)["connections"] == 2
    assert host.run(["ls", "/run/chaoskit/held"]).out.split() == ["0-held.early", "0-held.pulse"]


def test_faults_of_the_network_hit_what_passes_a_tap(frames: FramesCluster) -> None:
    host = frames.hosts[0]
    with Client(host) as client:
        assert client.ask("Fetch") is not None
        with network_fault(PacketDelay(), [host], frames, peers="clients", delay="80ms"):
            began = time.monotonic()
            assert client.ask("Fetch") is not None
            assert time.monotonic() - began > 0.08
        with network_fault(Partition(), [host], frames, peers="clients"):
            client.send("Fetch")
            time.sleep(0.3)
            assert not client.has_answer()
        assert client.answer(30) is not None
        with network_fault(ResetConnections(), [host], frames, peers="clients", ports=[PORT]):
            pass
        with pytest.raises(OSError, match="reset"):
            client.ask("Fetch")
    with Client(host) as client:
        assert client.ask("Fetch") is not None


def test_after_a_boot_the_fault_puts_another_tap_there(journal: Journal) -> None:
    lab = LocalProvider().provision(journal, 1, LocalOptions.model_validate({"size": "256MiB"}))
    (host,) = lab.hosts
    cluster = FramesCluster(lab.hosts)
    nemesis = WireFault()
    strike = strike_of(nemesis, [host], cluster, message="Produce", of="response", then="drop-and-close")
    try:
        cluster.start(host)
        nemesis.inject(strike)
        host.power(PowerSwitch).power_cut()
        host.power(PowerSwitch).power_on()
        cluster.start(host)
        with Client(host) as client:
            assert client.ask("Produce") is not None, "there is no tap"

            nemesis.renew(strike, [host])

            with pytest.raises(OSError, match="reset"):
                client.ask("Produce")
        with Client(host) as client:
            assert client.ask("Produce") is None
        assert "n1: 1 of 1 Produce responses dropped" in nemesis.verify(strike).sentence
        nemesis.heal(strike)
        assert nemesis.verify_healed(strike)
    finally:
        lab.close()
