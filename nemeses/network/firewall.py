"""nftables rules on one host that affect and count its packets to and from given peers.

Each strike has its own tables (`inet` for incoming, `netdev` for outgoing packets), which are added and removed in one
transaction. Never affected: loopback, IPv6 neighbour discovery, and the harness's SSH connection. Outgoing packets are
handled at the device (hook `egress`, Linux 5.16), where a dropped packet is lost as in a network. In the hook `output`,
the sender would get an error (EPERM).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from chaoskit.contract.faults.nemesis import NemesisError
from chaoskit.contract.hosts.host import ServiceHost
from nemeses.network.peers import Peers, addresses

_NEIGHBOURS = "icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit, nd-router-advert } accept"

_COUNTERS = "counter seen_in {}\ncounter hit_in {}\ncounter seen_out {}\ncounter hit_out {}\n"
"""`seen`: packets to or from the peers. `hit`: those affected by the fault."""

_MULTICAST = {"ip": "224.0.0.0/4", "ip6": "ff00::/8"}

DROP = ("counter name {hit} drop",)
REJECT = (
    "meta l4proto tcp counter name {hit} reject with tcp reset",
    "counter name {hit} reject with icmpx admin-prohibited",
)
_ANSWERS_OF_REJECT = (
    "tcp flags & rst == rst accept",
    "icmp type destination-unreachable accept",
    "icmpv6 type destination-unreachable accept",
)

_LOAD = """
case $SSH_CONNECTION in *.*) family=ip;; *) family=ip6;; esac
harness="$family saddr ${{SSH_CONNECTION%% *}} tcp dport ${{SSH_CONNECTION##* }}"
to_harness="$family daddr ${{SSH_CONNECTION%% *}} tcp sport ${{SSH_CONNECTION##* }}"
devices=
for device in /sys/class/net/*/ifindex; do
    device=${{device%/ifindex}} device=${{device##*/}}
    [ "$device" = lo ] || devices="$devices${{devices:+, }}\\"$device\\""
done
nft -f - <<RULES
{rules}
RULES
"""


@dataclass(frozen=True, slots=True)
class FirewallRules:
    """What happens to a host's packets from and to its peers.

    Attributes:
        table: name of the table, valid for any strike name.
        arriving, leaving: nftables statements with `{{hit}}` as a placeholder for the counter; empty for no effect.
        ports: restricts the rules to TCP and UDP packets from or to these ports; empty for all packets.
        deaf_to: hosts whose multicast does not arrive: what they send by multicast goes to all or none.
    """

    table: str
    peers: Peers
    arriving: Sequence[str] = ()
    leaving: Sequence[str] = ()
    ports: Sequence[int] = ()
    rejects: bool = False
    deaf_to: Sequence[ServiceHost] = ()

    def act(self, cluster: Sequence[ServiceHost]) -> str:
        """Return the bash script that loads the rules; `cluster` is the list of all hosts."""
        parts = []
        if self.arriving or self.deaf_to:
            parts += self._table("inet", "in", "type filter hook input priority raw", cluster)
        if self.leaving and self.rejects:
            parts += self._table("inet", "out", "type filter hook output priority raw", cluster)
        elif self.leaving:
            parts += self._table("netdev", "out", "type filter hook egress devices = { $devices } priority 0", cluster)
        return _LOAD.format(rules="\n".join(parts))

    def undo(self) -> str:
        """Return the bash script that removes the rules, if they exist."""
        lines = [f"{verb} table {family} {self.table}" for family in ("inet", "netdev") for verb in ("add", "delete")]
        return f"nft '{'; '.join(lines)}'"

    def _table(self, family: str, way: str, hook: str, cluster: Sequence[ServiceHost]) -> list[str]:
        statements = self.arriving or DROP if way == "in" else self.leaving
        exempt = ["iif lo accept", "$harness accept"] if way == "in" else ["$to_harness accept"]
        if way == "out" and family == "inet":
            exempt += ["oif lo accept", *_ANSWERS_OF_REJECT]
        return [
            f"table {family} {self.table} {{",
            _COUNTERS,
            f"chain fault_{way} {{",
            f"counter name seen_{way}",
            *(statement.format(hit=f"hit_{way}") for statement in statements),
            "}",
            f"chain {way} {{ {hook}; policy accept;",
            *exempt,
            _NEIGHBOURS,
            *(f"{match} jump fault_{way}" for match in self._matches(way, cluster)),
            "}",
            "}",
        ]

    def _matches(self, way: str, cluster: Sequence[ServiceHost]) -> list[str]:
        end, matches = ("saddr" if way == "in" else "daddr"), []
        if self.arriving if way == "in" else self.leaving:
            matches += [f"{family} {end} {_set(own)}" for family, own in addresses(self.peers.hosts).items()]
            if self.peers.clients:
                matches += [f"{family} {end} != {_set(own)}" for family, own in addresses(cluster).items()]
        if way == "in":
            heard = addresses(self.deaf_to).items()
            matches += [f"{family} saddr {_set(own)} {family} daddr {_MULTICAST[family]}" for family, own in heard]
        if not self.ports:
            return matches
        ports = [f"meta l4proto {{ tcp, udp }} th {end} {_set(self.ports)}" for end in ("sport", "dport")]
        return [f"{match} {port}" for match in matches for port in ports]


def _set(elements: Sequence[object]) -> str:
    return f"{{ {', '.join(map(str, elements))} }}"


def counted(host: ServiceHost, table: str) -> dict[str, int]:
    """Return a strike's packet counters on a host, by name; empty if its rules are not loaded."""
    listed = json.loads(host.run(["nft", "-j", "list", "counters"]).out)["nftables"]
    counts: dict[str, int] = {}
    for counter in (entry["counter"] for entry in listed if "counter" in entry):
        if counter["table"] == table:
            counts[counter["name"]] = counts.get(counter["name"], 0) + counter["packets"]
    return counts


def check_gone(host: ServiceHost, table: str) -> None:
    """Check that a strike's rules are no longer loaded on a host.

    Raises:
        NemesisError: they are; the message has their counters.
    """
    if counts := counted(host, table):
        raise NemesisError(f"the rules are still on {host.name}: {counts}")
