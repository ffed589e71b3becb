"""What the faults of a run could have taken: a run in which nothing was at stake proves nothing.

A queue that is empty when the power of its hosts is cut loses nothing, whatever its settings are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from chaoskit.base.latency import Ints
from chaoskit.contract.guarantees.act import Act, Damage
from chaoskit.contract.guarantees.guarantee import FOREVER, Effect
from chaoskit.contract.hosts.recorded_disk import NEVER
from chaoskit.history.compacting.placements import Placements
from chaoskit.history.reading.reader import History
from chaoskit.judge.explaining.effects import effects
from chaoskit.judge.exposure.copies import AcknowledgedMessages, acknowledged
from chaoskit.judge.subject.subject import Subject
from chaoskit.model.place import Place

_AT_ONCE = Act.ENDS | Act.VANISHES
"""What a host has no time to hand over."""


def at_stake(
    history: History, subject: Subject, placements: Placements, took: Mapping[int, int] = MappingProxyType({})
) -> dict[int, int]:
    """Return how many messages each fault could have taken, by its number, of those of which that is known.

    Those are acknowledged messages on the hosts that it hit that nobody had consumed. If it ended all hosts that had
    them at once: the fewest that there were while that happened. Otherwise those as well that were acknowledged before
    it was healed. Of a host that stores no message, and of a fault that takes none, it is not known.

    Args:
        history: the history of the run, message by message.
        subject: what the run declared.
        placements: where partitions were stored; where that is not known: on any host.
        took: of how many findings each fault is a cause: at least so many messages were at stake.
    """
    acting = [effect for effect in effects(history.recorded_faults) if effect.acts or effect.damage is not Damage.NONE]
    if not acting or subject.plan is None:
        return {}
    hosts = frozenset(subject.plan.scenario.cluster.system_hosts)
    topics = subject.plan.declared.topics
    passing = {topic.name for topic in topics if not topic.model.keeps}
    held = {place: _held(messages, place[0] in passing) for place, messages in acknowledged(history, topics).items()}
    stakes = {effect.number: list(_taken(effect, held, placements, hosts)) for effect in acting}
    known = {number: sum(taken) for number, taken in stakes.items() if taken}
    return known | {number: max(count, known.get(number, 0)) for number, count in took.items()}


def nothing_at_stake(faults: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the doubt that no fault of verdict.json that took effect could have taken a message, if that is so."""
    known = [fault for fault in faults if fault["effective"] and fault.get("at_stake") is not None]
    if known and not any(fault["at_stake"] for fault in known):
        what = f"{known[0]['kind']} of {', '.join(known[0]['targets'])}"
        yield (
            f"nothing was at stake: when {what} began, every acknowledged message had been consumed; leave some there "
            "(consumers: 0, or backlog), or send while it lasts"
        )


def _held(messages: AcknowledgedMessages, passing: bool) -> AcknowledgedMessages:
    """Return the messages that were there for a while. Those that nobody keeps may be acknowledged only once they have
    arrived: of these, the time since they were sent counts."""
    if passing:
        messages = messages._replace(acked_ns=messages.sent_ns)
    lasting = messages.gone_ns > messages.acked_ns
    return messages if lasting.all() else AcknowledgedMessages(*(column[lasting] for column in messages))


def _taken(
    effect: Effect, held: Mapping[Place, AcknowledgedMessages], placements: Placements, hosts: frozenset[str]
) -> Iterator[int]:
    """Yield how many messages of each partition a fault could have taken."""
    targets = frozenset(effect.targets)
    for place, messages in held.items():
        stored = placements.holders(place, effect.start_ns, effect.start_ns) or hosts
        if effect.on_hosts and not effect.on_links and not targets & stored:
            continue
        if not effect.on_hosts and not effect.on_links and (messages.gone_ns == NEVER).all():
            continue  # a client takes nothing from a log; what it had open is told apart (`in_flight`)
        until_ns = FOREVER if effect.healed_ns is None else effect.healed_ns
        if effect.on_hosts and effect.acts & _AT_ONCE and stored <= targets:
            yield _fewest(messages, effect.start_ns, min(effect.done_ns or until_ns, until_ns))
        else:
            yield int(((messages.acked_ns <= until_ns) & (messages.gone_ns > effect.start_ns)).sum())


def _fewest(messages: AcknowledgedMessages, start_ns: int, end_ns: int) -> int:
    """Return the smallest number of messages that were there at one time of an interval."""
    come, gone = _within(messages.acked_ns, start_ns, end_ns), _within(messages.gone_ns, start_ns, end_ns)
    present = int(((messages.acked_ns <= start_ns) & (messages.gone_ns > start_ns)).sum())
    change = np.repeat([1, -1], [come.size, gone.size])[np.argsort(np.concatenate([come, gone]), kind="stable")]
    return present + int(np.cumsum(change).min(initial=0))


def _within(times_ns: Ints, start_ns: int, end_ns: int) -> Ints:
    return times_ns[(times_ns > start_ns) & (times_ns <= end_ns)]
