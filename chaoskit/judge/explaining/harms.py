"""What was done to hosts: damage of what they hold, and who was away, or made a follower lag, at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chaoskit.base.quantities import SECOND
from chaoskit.contract.guarantees.act import Act, Damage
from chaoskit.contract.guarantees.guarantee import Effect
from chaoskit.contract.guarantees.mechanism import WRITTEN_BACK_NS, Copies
from chaoskit.judge.explaining.derived import joined
from chaoskit.judge.explaining.links import UNAWARE_NS, is_brief, names_role
from chaoskit.judge.explaining.record import CLOCKS_NS, LOOK_NS, NEVER, Record
from chaoskit.model.place import Place

IN_ORDER, TOLD_NS = Act.MOVES | Act.STOPS, SECOND
"""What replaces a leader that runs; how long it may go on before it is told, on a busy machine."""

_DISTURBS = Act.ENDS | Act.STOPS | Act.SILENCES | Act.MOVES | Act.CUTS | Act.BREAKS | Act.DROPS | Act.SLOWS | Act.DELAYS
"""What may make a follower lag, or an election happen."""


@dataclass(frozen=True, slots=True)
class Harm:
    """A damage of one host's copies, ns since the start of the run.

    Attributes:
        host: the host.
        effect: the fault.
        since_ns: what was written before this is not taken.
        until_ns: what was written until then may be taken.
        back_ns: from when on the host may have copies again.
    """

    host: str
    effect: Effect
    since_ns: int
    until_ns: int
    back_ns: int


def harms_of(record: Record, mechanism: Copies, place: Place) -> list[Harm]:
    """Return the damage that takes copies of a partition, in the order in which it was done."""
    return sorted(_harms(record, mechanism, place), key=lambda harm: harm.until_ns)


def _harms(record: Record, mechanism: Copies, place: Place) -> Iterator[Harm]:
    restarts = [effect for effect in record.effects if effect.acts & Act.ENDS]
    for effect in record.effects:
        if not effect.on_hosts or (effect.partitions and not _concerned(record, mechanism, place, effect)):
            continue
        taken = effect.damage & mechanism.takes
        ended = effect.acts & mechanism.in_process
        if not taken and not ended:
            continue
        done_ns = effect.over_ns if effect.done_ns is None else effect.done_ns
        lasting = bool(taken & (Damage.DESTROYS | Damage.CORRUPTS)) or bool(ended)
        since_ns = NEVER if lasting and not effect.only_since_start else effect.start_ns - WRITTEN_BACK_NS
        for host in effect.targets:
            yield Harm(host, effect, since_ns, done_ns, effect.over_ns)
            if taken & Damage.CORRUPTS:
                yield from _recovered(host, done_ns, restarts)


def _recovered(host: str, done_ns: int, restarts: Sequence[Effect]) -> Iterator[Harm]:
    """Yield the later restarts of a host with a changed file: what was written behind the changed place goes when the
    host recovers its files."""
    for restart in restarts:
        if host in restart.targets and restart.start_ns > done_ns:
            yield Harm(host, restart, NEVER, restart.done_ns or restart.start_ns, restart.over_ns)


def _concerned(record: Record, mechanism: Copies, place: Place, effect: Effect) -> bool:
    """Return whether a fault that damaged some partitions only damaged this one, or state that is stored apart."""
    if mechanism.anywhere:
        own = {topic.name for topic in record.declared.topics}
        return any(topic not in own for topic, _ in effect.partitions)
    return place in effect.partitions


def hosts_under(
    effects: Sequence[Effect], acts: Act, since_ns: int, until_ns: int, *, proved: bool = False
) -> set[str]:
    """Return the hosts to which some acts were done at some time of an interval.

    Args:
        effects: the faults.
        acts: what was done.
        since_ns, until_ns: the interval, ns since the start of the run.
        proved: whether an act counts only from when it was proved.
    """
    return {
        host
        for effect in effects
        if effect.acts & acts
        and effect.on_hosts
        and ((effect.done_ns or effect.start_ns) if proved else effect.start_ns - CLOCKS_NS) <= until_ns
        and effect.over_ns >= since_ns
        for host in effect.targets
    }


def acted_on(record: Record, acts: Act, hosts: set[str], at_ns: int) -> bool:
    """Return whether some acts were done to one of some hosts at a look, or shortly before."""
    return bool(hosts_under(record.effects, acts, at_ns - LOOK_NS, at_ns) & hosts)


def causes_of_election(record: Record, hosts: set[str], at_ns: int, acked_ns: int, lag_ns: int) -> tuple[Effect, ...]:
    """Return the faults that may have made a follower lag, or another one lead.

    Args:
        record: the record of the run.
        hosts: the former leader and the new one.
        at_ns: when the new one was seen, ns since the start of the run.
        acked_ns: when the message was acknowledged.
        lag_ns: how long a replica that counts as in sync may lag.
    """
    since_ns = min(acked_ns, at_ns - LOOK_NS - lag_ns) if acked_ns > at_ns else at_ns - LOOK_NS - lag_ns
    return joined(
        [
            effect
            for effect in record.effects
            if effect.acts & _DISTURBS
            and not is_brief(effect, _DISTURBS)
            and _touches(record, effect, hosts)
            and effect.start_ns - CLOCKS_NS <= at_ns
            and (effect.healed_ns is None or effect.healed_ns + UNAWARE_NS >= since_ns)
        ]
    )


def _touches(record: Record, effect: Effect, hosts: set[str]) -> bool:
    """Return whether a fault hit one of some hosts, or what other hosts of the run send to it by name."""
    targets = set(effect.targets)
    if not effect.on_hosts or hosts & targets or not effect.on_links:
        return effect.on_hosts and bool(hosts & targets)
    known = not record.hosts or bool(targets & set(record.hosts))
    return known and (names_role(effect) or bool(hosts & set(effect.peers)))
