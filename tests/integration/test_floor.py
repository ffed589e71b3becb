"""The floor under a system: round trips between two hosts without one."""

from __future__ import annotations

from chaoskit.run.floor import measured
from clusters.hosts.lab import LocalLab


def test_hosts_answer_by_icmp_tcp_and_udp(lab: LocalLab) -> None:
    here, there = lab.hosts

    found = list(measured(here, there, payload=64))

    assert [each.kind for each in found] == ["ICMP", "TCP", "UDP"]
    assert all(0 < each.p50_us < 1e6 for each in found)
    assert all(each.p99_us is None or each.p99_us >= each.p50_us for each in found)
