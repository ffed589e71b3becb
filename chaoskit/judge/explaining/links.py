"""Interruptions of a message's way: when which fault kept one party, or the hop between two, from passing it on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chaoskit.base.quantities import MILLISECOND, SECOND
from chaoskit.contract.guarantees.act import LATE, Act
from chaoskit.contract.guarantees.guarantee import FOREVER, Effect
from chaoskit.contract.guarantees.mechanism import Party
from chaoskit.history.compacting.placements import Placements
from chaoskit.judge.explaining.record import CLOCKS_NS, LOOK_NS, NEVER, Record
from chaoskit.model.place import Place

UNAWARE_NS = 10 * SECOND
"""How long after the healing of a fault a leader that was replaced meanwhile may not know it: connections that were cut
try again after a pause that grows with the time they were (RFC 6298, back-off)."""

NOTICED_NS = 100 * MILLISECOND
"""What is late for less than this ends nothing of those who wait for an unknown time: systems send their heartbeats
every 500 ms or less often, and miss several of them before they give anybody up."""

_CLIENTS = (Party.PRODUCER, Party.CONSUMER)


@dataclass(frozen=True, slots=True)
class LinkInterruption:
    """A time in which a way was interrupted, ns since the start of the run.

    Attributes:
        start_ns, until_ns: from when until when.
        effect: the fault.
        words: what it interrupted.
        late: whether it only made something late, by an unknown time.
    """

    start_ns: int
    until_ns: int
    effect: Effect
    words: str
    late: bool = False

    @property
    def mended_ns(self) -> int:
        """Until when the way may not have been open again: who was cut off tries again after a pause that grows with
        the time for which it was, to as long at most."""
        if self.until_ns == FOREVER:
            return FOREVER
        return self.until_ns + max(UNAWARE_NS, self.until_ns - self.start_ns)


@dataclass(frozen=True, slots=True)
class LinkSite:
    """Somebody on a way, and since when until when.

    Attributes:
        name: name of the client or host.
        host: the host on which it is; empty: elsewhere.
        from_ns, to_ns: while it was on the way.
    """

    name: str
    host: str
    from_ns: int = NEVER
    to_ns: int = FOREVER


def reigns(placements: Placements, place: Place, effects: Sequence[Effect]) -> list[LinkSite]:
    """Return who may have led a partition, and when: from the look before it was first seen to the one at which another
    one was; one that was cut off, or silent, goes on until it hears from the others."""
    led = [standing for standing in placements.standings(place) if standing.leader]
    changes = [standing for index, standing in enumerate(led) if not index or led[index - 1].leader != standing.leader]
    sites = []
    for index, standing in enumerate(changes):
        from_ns = standing.at_ns - LOOK_NS if index else NEVER
        to_ns = changes[index + 1].at_ns if index + 1 < len(changes) else FOREVER
        sites.append(LinkSite(standing.leader, standing.leader, from_ns, _aware_ns(standing.leader, to_ns, effects)))
    return sites


def _aware_ns(leader: str, replaced_ns: int, effects: Sequence[Effect]) -> int:
    """Return when a former leader knew at the latest that it was replaced, at a look or shortly before."""
    known_ns = replaced_ns
    for effect in effects:
        unaware = effect.acts & (Act.SILENCES | Act.CUTS | Act.DROPS | Act.BREAKS) and not effect.acts & Act.ENDS
        held = effect.start_ns - CLOCKS_NS <= replaced_ns <= effect.over_ns + LOOK_NS
        if unaware and held and effect.on_hosts and (effect.on_links or leader in effect.targets):
            known_ns = max(known_ns, FOREVER if effect.healed_ns is None else effect.healed_ns + UNAWARE_NS)
    return known_ns


class Links:
    """Finds the interruptions of ways in a run."""

    def __init__(self, record: Record) -> None:
        self._record = record

    def knows(self, path: Sequence[Party], place: Place) -> bool:
        """Return whether it was recorded who is on a way: who led, or stored, the partition."""
        if Party.LEADER in path:
            return self._record.placements.knows_leader(place)
        return Party.HOLDERS not in path or bool(self._record.placements.standings(place))

    def interruptions(  # noqa: PLR0917 - what a way is
        self, path: Sequence[Party], place: Place, producer: str, consumer: str, by: Act, patience_ns: int = 0
    ) -> list[LinkInterruption]:
        """Return the interruptions of a way, except those of single messages, in order of time."""
        sites = [self._sites(party, place, producer, consumer) for party in path]
        gaps: list[LinkInterruption] = []
        for effect in self._record.effects:
            if effect.messages is not None or not effect.acts & by or is_brief(effect, by, patience_ns):
                continue
            late = not effect.acts & by & ~LATE
            if effect.on_links:
                hops = [(a, b) for one, other in pairwise(sites) for a in one for b in other]
                gaps += [_clipped(effect, (a, b), late) for a, b in hops if self._crosses(effect, a.host, b.host)]
            else:
                gaps += [_clipped(effect, (site,), late) for some in sites for site in some if _hits(effect, site)]
        return sorted((gap for gap in gaps if gap.start_ns <= gap.until_ns), key=lambda gap: gap.start_ns)

    def on_messages(self, path: Sequence[Party], place: Place, client: str) -> Iterator[tuple[Effect, LinkSite]]:
        """Yield the faults that did something to single messages of a client at a host on a way."""
        hosts = [site for party in path if party not in _CLIENTS for site in self._sites(party, place, "", "")]
        for effect in self._record.effects:
            if effect.messages is not None and effect.acts & Act.MESSAGES and effect.messages.of(client):
                yield from ((effect, site) for site in hosts if site.host in effect.targets)

    def _sites(self, party: Party, place: Place, producer: str, consumer: str) -> list[LinkSite]:
        record = self._record
        if party in _CLIENTS:
            name = producer if party is Party.PRODUCER else consumer
            return [LinkSite(name, record.seat(name))] if name else []
        if party is Party.LEADER:
            return reigns(record.placements, place, record.effects)
        if party is Party.HOLDERS:
            names = {name for standing in record.placements.standings(place) for name in standing.holders}
            return [LinkSite(name, name) for name in sorted(names)]
        return [LinkSite(name, name) for name in record.hosts]

    def _crosses(self, effect: Effect, one: str, other: str) -> bool:
        """Return whether a fault concerns the link between two places; an empty name is outside of the lab."""
        targets = effect.targets
        if "targets" in effect.peers and one in targets and other in targets:
            return one != other
        inward, outward = one in targets and other not in targets, other in targets and one not in targets
        return (inward and self._is_peer(effect, other)) or (outward and self._is_peer(effect, one))

    def _is_peer(self, effect: Effect, host: str) -> bool:
        peers = set(effect.peers)
        if "all" in peers or host in peers:
            return True
        if not host:
            return "clients" in peers
        return "hosts" in peers or names_role(effect)


def _hits(effect: Effect, site: LinkSite) -> bool:
    return site.host in effect.targets if effect.on_hosts else site.name in effect.targets


def names_role(effect: Effect) -> bool:
    """Return whether a fault names a role at the other end of its links: it was resolved when the fault began, and
    nobody recorded to whom."""
    return any(not name[1:].isdecimal() for name in {*effect.peers} - {"all", "hosts", "clients", "targets"})


def is_brief(effect: Effect, by: Act, patience_ns: int = 0) -> bool:
    """Return whether a fault only made packets late, by less than anybody waits; a patience of 0: as long as is not
    known."""
    return effect.acts & by == Act.DELAYS and effect.late_ns < (patience_ns or NOTICED_NS)


def _clipped(effect: Effect, sites: Sequence[LinkSite], late: bool) -> LinkInterruption:
    """Return the interruption by a fault while all of some sites were on the way."""
    names = " and ".join(site.name or "the clients" for site in sites)
    interrupted = f"the way between {names} was interrupted" if len(sites) > 1 else f"{names} was hit"
    return LinkInterruption(
        max([effect.start_ns - CLOCKS_NS, *(site.from_ns for site in sites)]),
        min([effect.over_ns, *(site.to_ns for site in sites)]),
        effect,
        f"{interrupted} by {effect.dated}",
        late,
    )
