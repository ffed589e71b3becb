"""The floor under a system: round trips between two hosts without one."""

from __future__ import annotations

from chaoskit.run.floor import measured
from clusters.hosts.lab import LocalLab


def test_hosts_answer_by_icmp_tcp_and_udp(lab: LocalLab) -> None:
    here, peer = lab.hosts

    figures = list(measured(here, peer, payload=64))

    assert [floor.kind for floor in figures] == ["ICMP", "TCP", "UDP"]
    assert all(0 < floor.p50_us < 1e6 for floor in figures)
    assert all(floor.p99_us is None or floor.p99_us >= floor.p50_us for floor in figures)
