"""Partitions on real hosts: who reaches whom by TCP, seen from the hosts and from the clients' side."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from echo import PORT, EchoCluster
from pydantic import ValidationError
from trial import fault, sooner_or_later, strike_of

from chaoskit.contract.faults.nemesis import NemesisError
from chaoskit.contract.hosts.host import CommandResult, PowerSwitch, ServiceHost
from clusters.hosts.ssh import SshHost
from nemeses.network.partition import Partition, PartitionParameters

_LISTEN = """
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("", 7002))
while True: print(s.recv(99).decode(), flush=True)
"""


_MEMBER = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(("", 7003))
s.setsockopt(0, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.255.77.77") + socket.inet_aton(sys.argv[1]))
while True: print(s.recv(99).decode(), flush=True)
"""
_CALL = """
import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(0, socket.IP_MULTICAST_IF, socket.inet_aton(sys.argv[1]))
s.sendto(sys.argv[2].encode(), ("239.255.77.77", 7003))
"""


def connect(source: ServiceHost, address: str) -> CommandResult:
    """Connect from a host to an echo server."""
    script = 'exec 3<> "/dev/tcp/$1/$2"'
    return source.run(["timeout", "0.4", "bash", "--norc", "-c", script, "connect", address, str(PORT)], check=False)


def hears(source: ServiceHost, address: str) -> bool:
    return any(connect(source, address).status == 0 for _ in range(2))


def client_hears(address: str) -> bool:
    try:
        socket.create_connection((address, PORT), timeout=0.4).close()
    except OSError:
        return False
    return True


def reach(cluster: EchoCluster, count: int = 9) -> set[str]:
    """Return `ab` for each a that hears b, `ca` for each a that hears the clients; by IPv4 and IPv6 alike.

    All are asked again until so many hear the other, or half a minute is over: others may keep the machine busy.
    """
    heard: dict[str, set[str]] = {"address": set(), "address6": set()}

    def probe(asked: tuple[ServiceHost | None, ServiceHost, str]) -> None:
        source, peer, family = asked
        address = getattr(peer, family)
        if client_hears(address) if source is None else hears(source, address):
            heard[family].add(f"{source.name[1] if source else 'c'}{peer.name[1]}")

    hosts = cluster.hosts
    pairs = [(source, peer) for source in (None, *hosts) for peer in hosts if source is not peer]

    def heard_enough() -> bool:
        with ThreadPoolExecutor(9) as pool:
            list(pool.map(probe, [(*pair, family) for pair in pairs for family in heard]))
        return all(len(names) >= count for names in heard.values())

    sooner_or_later(heard_enough)
    assert heard["address"] == heard["address6"], "IPv4 or IPv6 alone"
    return heard["address"]


ALL = {"12", "13", "21", "23", "31", "32", "c1", "c2", "c3"}


@pytest.mark.parametrize(
    ("on", "parameters", "expected"),
    [
        ([0], {}, {"23", "32", "c2", "c3"}),
        ([0, 1], {}, {"12", "21", "c3"}),
        ([0, 1], {"shape": "each"}, {"c3"}),
        ([0], {"peers": "hosts"}, {"23", "32", "c1", "c2", "c3"}),
        ([0], {"peers": "clients"}, ALL - {"c1"}),
        ([0], {"peers": "n2"}, ALL - {"12", "21"}),
        ([1], {"peers": ["leader", "clients"]}, ALL - {"12", "21", "c2"}),
        ([0], {"how": "reject"}, {"23", "32", "c2", "c3"}),
        ([0], {"ports": [7001]}, ALL),
        ([0], {"ports": PORT, "peers": "followers"}, ALL - {"12", "13", "21", "31"}),
        ([0], {"direction": "in"}, {"23", "32", "c2", "c3"}),
        ([0], {"groups": [["n1", "n2"], ["n3"]]}, ALL - {"13", "31", "23", "32"}),
        ([0], {"shape": "bridge"}, None),
        ([0], {"shape": "halves"}, None),
    ],
    ids=lambda side: " ".join(sorted(side)) if isinstance(side, set) else str(side),
)
def test_only_the_cut_pairs_are_cut(
    echo: EchoCluster, on: list[int], parameters: dict[str, Any], expected: set[str] | None
) -> None:
    assert reach(echo) == ALL
    count = len(ALL) - {"bridge": 2, "halves": 4}[parameters["shape"]] if expected is None else len(expected)

    with fault(Partition(), [echo.hosts[index] for index in on], echo, **parameters) as evidence:
        seen = reach(echo, count)

    print(evidence)
    if expected is None:
        cut = ALL - seen
        assert len(seen) == count
        assert {pair[::-1] for pair in cut} == cut
    else:
        assert seen == expected
    assert reach(echo) == ALL


def test_a_partition_that_divides_the_cluster_hits_more_than_a_drawn_host(echo: EchoCluster) -> None:
    struck = []
    for parameters in ({"groups": [["n2"], ["n3"]]}, {"peers": "n2"}):
        strike = strike_of(Partition(), echo.hosts[:1], echo, **parameters)
        Partition().inject(strike)
        struck.append(sorted(host.name for host in Partition().struck(strike)))
        Partition().heal(strike)

    assert struck == [["n2", "n3"], ["n1"]]


@pytest.mark.parametrize("traffic", [True, False])
def test_a_partition_that_no_traffic_crossed_is_told(echo: EchoCluster, *, traffic: bool) -> None:
    strike = strike_of(Partition(), echo.hosts[:1], echo, peers="hosts")
    Partition().inject(strike)
    Partition().verify(strike)
    if traffic:
        assert not hears(echo.hosts[0], echo.hosts[1].address)
    Partition().heal(strike)

    sentence = Partition().verify_healed(strike).sentence
    assert ("packets of the system were blocked" in sentence) is traffic
    assert ("NO TRAFFIC" in sentence) is not traffic


def test_a_rejected_connection_is_told_at_once_and_a_dropped_one_is_not(echo: EchoCluster) -> None:
    for how, words in (("reject", "refused"), ("drop", "")):
        with fault(Partition(), echo.hosts[:1], echo, how=how):
            for source, peer in ((echo.hosts[0], echo.hosts[1]), (echo.hosts[1], echo.hosts[0])):
                assert words in connect(source, peer.address).err, (how, source.name)
                assert ("refused" in connect(source, peer.address6).err) is (how == "reject")


@pytest.mark.parametrize(("direction", "arrives"), [("in", ["from n1"]), ("out", ["to n1"])])
def test_one_way_lets_packets_pass_the_other_way(echo: EchoCluster, direction: str, arrives: list[str]) -> None:
    """UDP needs no answer: what is sent against the cut direction is seen by nobody, the other way by the receiver."""
    n1, n2 = echo.hosts[:2]
    for host in (n1, n2):
        host.spawn("listen", ["/usr/bin/python3", "-c", _LISTEN], {})
        host.run(["bash", "-c", "until ss -lun | grep -q 7002; do sleep 0.01; done"])

    with fault(Partition(), [n1], echo, direction=direction):
        n1.run(["bash", "-c", f"echo from n1 > /dev/udp/{n2.address}/7002"])
        n2.run(["bash", "-c", f"echo to n1 > /dev/udp/{n1.address}/7002"])
        n1.run(["sleep", "0.1"])

    heard = [line for host in (n1, n2) for line in host.run(["cat", host.log_path("listen")]).out.splitlines() if line]
    assert heard == arrives


@pytest.mark.parametrize(
    ("given", "hear"),
    [
        ({"peers": "n2"}, {"n1": {"n3"}, "n2": {"n3"}, "n3": {"n1", "n2"}}),
        ({"peers": "n2", "direction": "out"}, {"n1": {"n2", "n3"}, "n2": {"n3"}, "n3": {"n1", "n2"}}),
        ({"peers": "n2", "direction": "in"}, {"n1": {"n3"}, "n2": {"n1", "n3"}, "n3": {"n1", "n2"}}),
        ({"groups": [["n1"], ["n2"]]}, {"n1": {"n3"}, "n2": {"n3"}, "n3": {"n1", "n2"}}),
        ({"peers": "all"}, {"n1": set(), "n2": {"n3"}, "n3": {"n2"}}),
    ],
)
def test_multicast_is_cut_where_it_arrives(echo: EchoCluster, given: dict[str, Any], hear: dict[str, set[str]]) -> None:
    """What a host sends to all must reach those from which it is not cut off, and nobody else."""
    for host in echo.hosts:
        host.spawn("members", ["/usr/bin/python3", "-c", _MEMBER, host.address], {})
        host.run(["bash", "-c", "until grep -q 4D4DFFEF /proc/net/igmp; do sleep 0.01; done"])

    def heard() -> dict[str, set[str]]:
        for host in echo.hosts:
            host.run(["/usr/bin/python3", "-c", _CALL, host.address, host.name])
        members = {host.name: host.run(["cat", host.log_path("members")]).out.split() for host in echo.hosts}
        return {name: set(lines) - {name} for name, lines in members.items()}

    with fault(Partition(), echo.hosts[:1], echo, **given):
        sooner_or_later(lambda: all(hear[name] <= names for name, names in heard().items()))
        assert heard() == hear
    everybody = {host.name for host in echo.hosts}
    sooner_or_later(lambda: heard() == {name: everybody - {name} for name in everybody})


def test_the_management_connection_stays(echo: EchoCluster) -> None:
    with fault(Partition(), echo.hosts, echo, shape="each"):
        for host in echo.hosts:
            assert isinstance(host, SshHost)
            host.disconnect()
            assert host.run(["hostname"]).out.strip() == host.name


def test_a_partition_that_was_not_made_is_told(echo: EchoCluster) -> None:
    nemesis = Partition()
    strike = strike_of(nemesis, echo.hosts[:1], echo)
    nemesis.inject(strike)
    nemesis.heal(strike)

    with pytest.raises(NemesisError, match=r"n1 to n2 .* should be cut off, but got through"):
        nemesis.verify(strike)


def test_a_partition_that_is_not_healed_is_told(echo: EchoCluster) -> None:
    nemesis = Partition()
    strike = strike_of(nemesis, echo.hosts[:1], echo)
    nemesis.inject(strike)

    with pytest.raises(NemesisError, match="the rules are still on n1"):
        nemesis.verify_healed(strike)
    nemesis.heal(strike)


def test_one_that_cuts_more_than_it_should_is_told(echo: EchoCluster) -> None:
    nemesis = Partition()
    other = strike_of(nemesis, echo.hosts[1:2], echo, name="other")
    nemesis.inject(other)
    strike = strike_of(nemesis, echo.hosts[:1], echo, peers="n2")
    nemesis.inject(strike)

    with pytest.raises(NemesisError, match=r"n2 to n3 .* should not be cut off, but does not get through"):
        nemesis.verify(strike)
    nemesis.heal(strike)
    nemesis.heal(other)


def test_a_host_that_booted_meanwhile_is_healed(echo: EchoCluster) -> None:
    nemesis = Partition()
    strike = strike_of(nemesis, echo.hosts[:2], echo)
    nemesis.inject(strike)
    echo.hosts[0].power(PowerSwitch).power_cut()
    echo.hosts[0].power(PowerSwitch).power_on()

    nemesis.heal(strike)

    assert "6 pairs" not in nemesis.verify_healed(strike).sentence


def test_nobody_to_be_cut_off_from_is_told(echo: EchoCluster) -> None:
    nemesis = Partition()

    with pytest.raises(NemesisError, match="peers: n1 matches nothing besides n1"):
        nemesis.inject(strike_of(nemesis, echo.hosts[:1], echo, peers="n1"))
    with pytest.raises(NemesisError, match="majorities-ring needs at least 4 hosts; there are 3"):
        nemesis.inject(strike_of(nemesis, echo.hosts, echo, shape="majorities-ring"))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"shape": "halves", "direction": "in"}, "direction and peers require shape: isolate or each"),
        ({"groups": [["n1"], ["n2"]], "shape": "each"}, "specify either shape or groups"),
        ({"ports": [0]}, "greater than or equal to 1"),
        ({"peers": []}, "at least 1 item"),
        ({"port": 9092}, "Extra inputs are not permitted"),
    ],
)
def test_bad_parameters_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        PartitionParameters.model_validate(given)
