"""Messages whose copies are all gone: `Copies`.

For each message the hosts are followed that must have had it when it was acknowledged, and those that had it later: a
copy goes with a damage that takes it, and comes back when its host is seen in sync again. The message is gone when the
last copy is, or when a host becomes leader that need not have had it. Messages that were acknowledged between the same
two events have the same fate, so that a million of them cost as much as one, and a search in a sorted array.

Three facts that are easily forgotten: a power cut takes what was acknowledged until it was *proved*, not until it
began; a host that is in sync at a later look has the message, unless nobody led in between; a host that leads is in
sync with itself, which says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.guarantees.guarantee import FOREVER, Effect
from chaoskit.contract.guarantees.mechanism import Copies, Elects, Required
from chaoskit.history.compacting.placements import Standing
from chaoskit.judge.explaining.cases import Cases, ConcernedMessage
from chaoskit.judge.explaining.derived import Derived, Story, joined
from chaoskit.judge.explaining.ends import SendFate, at_the_end
from chaoskit.judge.explaining.harms import IN_ORDER, TOLD_NS, Harm, acted_on, causes_of_election, harms_of, hosts_under
from chaoskit.judge.explaining.links import LinkSite, reigns
from chaoskit.judge.explaining.looks import AWAY, acknowledging, standing_at, without_stale
from chaoskit.judge.explaining.record import CLOCKS_NS, LOOK_NS, NEVER, NONE, Ints, Record
from chaoskit.model.place import Place

_NOTHING = np.zeros(0, np.int64)
_UNKNOWN = "?"
"""A host that must have had a message, of which the record does not say which it was."""

_NOT_PLACED = "the record does not show where the partition was stored"


@dataclass(slots=True)
class _Copy:
    """What became of the copy on one host: by which damage it is gone, and since when it had been there."""

    since_ns: int
    gone: Harm | None = None
    left: bool = False


@dataclass(slots=True)
class _State:
    """Where the copies of a message are, while the events after its acknowledgement are gone through."""

    copies: dict[str, _Copy]
    leader: str
    before: Standing
    required: frozenset[str] = field(default_factory=frozenset)
    vacant: bool = False
    over: bool = False


def derive_copies(record: Record, mechanism: Copies, cases: Cases) -> Derived:
    """Return which messages are gone because all copies of them are."""
    derived = Derived.nothing(cases.size)
    stored_ns = [cases.stored_ns(message) for message in cases.messages]
    other_stored_ns, unanswered = cases.other.stored_ns, cases.other.unanswered
    for place, rows in cases.by_place():
        partition = _Partition(record, mechanism, place)
        if not partition.known:
            derived.doubt(rows, _NOT_PLACED)
            continue
        for (message, taken), acked_ns in zip(_taken(record, cases, place, rows), stored_ns, strict=True):
            for chosen, fate in partition.fates(acked_ns[taken], message.written_ns[taken]):
                held = taken[chosen]
                if mechanism.from_its_end:
                    held = held[at_the_end(record, place, message, held, fate)]
                if cases.reading:
                    held = held[cases.at_ns[held] >= fate.begun_ns - CLOCKS_NS]
                derived.tell(held, fate.story)
        if cases.reading:
            # What a reader had received before may be gone, also if nobody acknowledged it.
            gone = rows[unanswered[rows] | np.isin(cases.other.value[rows], record.gone.get(place, _NOTHING))]
            for chosen, fate in partition.fates(other_stored_ns[gone], cases.other.written_ns[gone]):
                seen = gone[chosen]
                derived.tell(seen[cases.at_ns[seen] >= fate.begun_ns - CLOCKS_NS], fate.story)
            # What a reader experienced may follow from the loss of other messages of its partition.
            follows = derived.story_of[rows] == NONE
            follows &= ~cases.message.known[rows] | (record.gone.get(place, _NOTHING).size > 0)
            _tell_by_time(derived, partition, cases, rows[follows])
    return derived


def _taken(record: Record, cases: Cases, place: Place, rows: Ints) -> Iterator[tuple[ConcernedMessage, Ints]]:
    """Yield the messages of findings that may have been taken, with their rows: of two, the one that is gone."""
    gone = record.gone.get(place, _NOTHING)
    missing = [np.isin(message.value[rows], gone) for message in cases.messages]
    none_missing = ~np.logical_or.reduce(missing)
    for message, is_missing in zip(cases.messages, missing, strict=True):
        yield message, rows[is_missing | none_missing]


def _tell_by_time(derived: Derived, partition: _Partition, cases: Cases, rows: Ints) -> None:
    """Tell findings that name no message by the losses of their partition that they may have noticed."""
    for fate in partition.all_fates():
        since_ns = np.where(cases.since_ns[rows] != NEVER, cases.since_ns[rows], cases.message.written_ns[rows])
        held = (cases.at_ns[rows] >= fate.begun_ns - CLOCKS_NS) & (since_ns <= _over(fate))
        derived.tell(rows[held], fate.story)


def _over(fate: SendFate) -> int:
    return max((fault.over_ns for fault in fate.story.faults), default=FOREVER)


class _Partition:
    """Who stored and led one partition, and what happened to them."""

    def __init__(self, record: Record, mechanism: Copies, place: Place) -> None:
        self._mechanism = mechanism
        self._record = record
        self._place = place
        self._standings = self._looked_at(record, place)
        self._harms = harms_of(record, mechanism, place)

    @property
    def known(self) -> bool:
        """Whether it was recorded who stored the partition, and who led it where that matters."""
        if not self._standings:
            return False
        return self._mechanism.required is not Required.LEADER or any(standing.leader for standing in self._standings)

    def fates(self, acked_ns: Ints, written_ns: Ints) -> Iterator[tuple[Ints, SendFate]]:
        """Yield which of some messages are gone, and how; `NEVER`: nobody knows when one was written."""
        written_ns = np.minimum(np.where(written_ns == NEVER, acked_ns, written_ns), acked_ns)
        edges, ends = np.array(self._sorted_edges, np.int64), self._proved_ends
        segment = np.searchsorted(edges, acked_ns, side="right") * (ends.size + 1)
        segment += np.searchsorted(ends, written_ns, side="right")
        for number in np.unique(segment).tolist():
            rows = np.flatnonzero(segment == number)
            if (fate := self._fate(int(acked_ns[rows].max()), int(written_ns[rows].max()))) is not None:
                yield rows, fate

    def all_fates(self) -> Iterator[SendFate]:
        """Yield each way in which messages of the partition may be gone."""
        stories = set()
        for edge_ns in self._sorted_edges:
            fate = self._fate(edge_ns - 1, edge_ns - 1)
            if fate is not None and fate.story not in stories:
                stories.add(fate.story)
                yield fate

    def _looked_at(self, record: Record, place: Place) -> list[Standing]:
        servers = self._mechanism.hosts or self._mechanism.anywhere
        looks = [Standing(NEVER, "", frozenset(servers))] if servers else record.placements.standings(place)
        return without_stale(looks, record.effects)

    @cached_property
    def _sorted_edges(self) -> list[int]:
        return sorted({edge_ns for edge_ns in self._edges() if 0 <= edge_ns < FOREVER})

    @cached_property
    def _proved_ends(self) -> Ints:
        """When hosts had ended for sure, or were damaged: what was written later never came to them, or stayed."""
        ends = [effect.done_ns or effect.start_ns for effect in self._record.effects if effect.acts & Act.ENDS]
        return np.array(sorted({*ends, *(harm.until_ns for harm in self._harms)}), np.int64)

    @cached_property
    def _sites(self) -> list[LinkSite]:
        return reigns(self._record.placements, self._place, self._record.effects)

    def _edges(self) -> Iterator[int]:
        """Yield the times at which what became of a message changes with its acknowledgement."""
        lag_ns = self._mechanism.lag_ns or 0
        for standing in self._standings:
            at_ns = standing.at_ns
            yield from (at_ns, at_ns - LOOK_NS, at_ns + LOOK_NS, at_ns - lag_ns, at_ns - lag_ns - LOOK_NS)
        for harm in self._harms:
            yield from (harm.since_ns, harm.until_ns + 1, harm.back_ns)
        for site in self._sites:
            yield from (site.to_ns, site.to_ns + TOLD_NS)
        for effect in self._record.effects:
            yield from (effect.start_ns, effect.over_ns)

    def _required(self, now: Standing, acked_ns: int, written_ns: int) -> frozenset[str]:
        """Return who must have had a message when it was acknowledged, of those between two looks: not who had ended
        before it was written."""
        soon = standing_at(self._standings, acked_ns + LOOK_NS)
        required = self._mechanism.required
        if servers := self._mechanism.hosts or self._mechanism.anywhere:
            return frozenset(servers) - hosts_under(self._record.effects, AWAY, acked_ns, acked_ns - 1, proved=True)
        running = now.holders - hosts_under(self._record.effects, Act.ENDS, acked_ns, written_ns - 1, proved=True)
        if required is Required.LEADER:
            return frozenset({now.leader or soon.leader}) - {""}
        if required is Required.IN_SYNC and now.in_sync is not None:
            soon_in_sync = now.in_sync if soon.in_sync is None else soon.in_sync
            for likely in (now.in_sync & soon_in_sync, now.in_sync, soon_in_sync):
                if len(likely & running) >= self._mechanism.least:
                    return likely & running
            return frozenset({_UNKNOWN})
        return running or now.holders

    def _fate(self, acked_ns: int, written_ns: int) -> SendFate | None:
        """Return how messages went that were written and acknowledged then; None if a copy should be there."""
        if (unaware := self._by_former_leader(acked_ns)) is not None:
            return unaware
        now = acknowledging(self._standings, acked_ns)
        required = self._required(now, acked_ns, written_ns)
        state = _State({host: _Copy(acked_ns) for host in required}, now.leader, now, required)
        for at_ns, harm, standing in self._events(acked_ns, written_ns):
            if harm is not None:
                fate = self._damaged(state, harm, acked_ns)
            elif standing is not None:
                fate = self._seen(state, standing, at_ns, acked_ns)
            else:
                fate = self._led_again(state, at_ns, acked_ns)
                self._caught_up(state, state.before, at_ns, acked_ns)
            if fate is not None or state.over:
                return fate
        return None

    def _by_former_leader(self, acked_ns: int) -> SendFate | None:
        """Return how messages went that a leader acknowledged which was not aware that it had been replaced."""
        if self._mechanism.required is not Required.LEADER or not self._mechanism.elects & Elects.LAGGING:
            return None
        for former, following in pairwise(self._sites):
            replaced_ns, two = following.from_ns + LOOK_NS, {former.name, following.name}
            told_ns = replaced_ns + TOLD_NS * acted_on(self._record, IN_ORDER, two, replaced_ns)
            if replaced_ns <= acked_ns <= max(former.to_ns, told_ns):
                causes = self._causes(two, replaced_ns, acked_ns)
                words = f"{former.name} was not aware that {following.name} had become leader at {_s(replaced_ns)}"
                return SendFate(Story(words, causes), replaced_ns, stale=True) if causes else None
        return None

    def _events(self, acked_ns: int, written_ns: int) -> list[tuple[int, Harm | None, Standing | None]]:
        """Return what happened after a message was acknowledged, in order of time, and which damage came since it was
        written; with the times at which hosts that count as in sync must have it."""
        lag_ns = self._mechanism.lag_ns
        events: list[tuple[int, Harm | None, Standing | None]] = [
            (harm.until_ns, harm, None) for harm in self._harms if harm.until_ns >= written_ns
        ]
        events += [(standing.at_ns, None, standing) for standing in self._standings if standing.at_ns > acked_ns]
        back = [harm.back_ns for harm in self._harms if acked_ns <= harm.back_ns < FOREVER]
        events += [(at_ns, None, None) for at_ns in back]
        if lag_ns is not None:
            # Who is in sync was seen some time before: what is so still after another look was so all the time.
            events += [(at_ns + LOOK_NS, None, None) for at_ns in (self._followed_ns(acked_ns, lag_ns), *back)]
        return sorted(events, key=lambda event: (event[0], event[1] is None))

    @cached_property
    def _vacancies(self) -> list[tuple[int, int]]:
        """From when until when nobody led: a look at it repeats who was in sync before."""
        looks = pairwise(self._standings)
        return [(standing.at_ns, following.at_ns) for standing, following in looks if not standing.leader]

    def _followed_ns(self, acked_ns: int, lag_ns: int) -> int:
        """Return when a host that counts as in sync must have what was acknowledged then: it may lag for some time,
        and follows nobody while nobody leads."""
        followed_ns = acked_ns + lag_ns
        for from_ns, to_ns in self._vacancies:
            if from_ns < followed_ns and acked_ns < to_ns:
                followed_ns += to_ns - max(from_ns, acked_ns)
        return followed_ns

    def _damaged(self, state: _State, harm: Harm, acked_ns: int) -> SendFate | None:
        copy = state.copies.get(harm.host)
        if copy is None or copy.gone is not None or max(copy.since_ns, acked_ns) < harm.since_ns:
            return None
        copy.gone, copy.left = harm, False
        harms = [copy.gone for copy in state.copies.values() if copy.gone is not None]
        enough = self._enough(state)
        if len(harms) < len(state.copies) and (enough is None or len(harms) < enough):
            return None
        leads = enough is not None and self._mechanism.leader_counts
        if leads and state.leader in state.copies and state.copies[state.leader].gone is None:
            return None
        faults = joined([harm.effect for harm in harms])
        taken = {f"{harm.host} ({harm.effect.dated})" for harm in harms}
        words = " and ".join(sorted(taken))
        had = ", ".join(sorted(state.copies))
        story = Story(
            f"it had to be on {had} when it was acknowledged, and every copy was lost or passed over: {words}", faults
        )
        return SendFate(story, min(fault.start_ns for fault in faults))

    def _enough(self, state: _State) -> int | None:
        servers = self._mechanism.hosts
        if not servers:
            return self._mechanism.enough
        # A majority that does not know: those that have lost it, with those that were away and never had it.
        return max(1, len(servers) // 2 + 1 - (len(servers) - len(state.copies)))

    def _seen(self, state: _State, standing: Standing, at_ns: int, acked_ns: int) -> SendFate | None:
        fate = None
        again = state.vacant or standing.epoch != state.before.epoch
        if standing.leader and state.leader and (standing.leader != state.leader or again):
            fate = self._elected(state, standing, at_ns, acked_ns)
        state.vacant = not standing.leader
        for host, copy in state.copies.items():
            if standing.in_sync is not None and host not in standing.in_sync:
                copy.left = True
        if fate is None:
            state.leader = standing.leader or state.leader
            self._caught_up(state, standing, at_ns, acked_ns)
        state.before = standing
        return fate

    def _led_again(self, state: _State, at_ns: int, acked_ns: int) -> SendFate | None:
        """Return how messages went when a leader that had lost them was back, and nobody had led meanwhile."""
        copy = state.copies.get(state.leader)
        if copy is None or copy.gone is None or at_ns < copy.gone.back_ns or state.before.leader != state.leader:
            return None
        return self._elected(state, state.before, at_ns, acked_ns)

    def _caught_up(self, state: _State, standing: Standing, at_ns: int, acked_ns: int) -> None:
        """Note who must have the message because it is in sync with a leader that has it."""
        lag_ns = self._mechanism.lag_ns
        if lag_ns is None:
            return
        if standing.in_sync is None:
            self._synchronised(state, at_ns, lag_ns)
            return
        source = state.copies.get(state.leader)
        if source is None or source.gone is not None:
            return
        for host in standing.in_sync - {state.leader}:
            copy = state.copies.get(host)
            if copy is None:
                if at_ns >= self._followed_ns(acked_ns, lag_ns):
                    state.copies[host] = _Copy(at_ns)
            elif copy.gone is not None and at_ns >= copy.gone.back_ns + (1 if copy.left else LOOK_NS):
                copy.gone, copy.since_ns = None, at_ns

    def _synchronised(self, state: _State, at_ns: int, lag_ns: int) -> None:
        """Give damaged hosts their copies again where nobody says who is in sync: from others that have it, once they
        are back for long enough."""
        if any(copy.gone is None for copy in state.copies.values()):
            for copy in state.copies.values():
                if copy.gone is not None and at_ns >= copy.gone.back_ns + max(lag_ns, LOOK_NS):
                    copy.gone, copy.since_ns = None, at_ns

    def _elected(self, state: _State, standing: Standing, at_ns: int, acked_ns: int) -> SendFate | None:
        """Return how messages went when another host became leader; None if it has them, or must not lead without."""
        leader, elects = standing.leader, self._mechanism.elects
        copy = state.copies.get(leader)
        if copy is not None and copy.gone is None:
            return None
        in_sync = state.before.in_sync
        if copy is not None:
            kind, lack = Elects.DAMAGED, "had lost it"
        elif in_sync is None or leader in in_sync or self._moved_in(state, standing, at_ns, acked_ns):
            kind, lack = Elects.LAGGING, "need not have had it yet"
        else:
            kind, lack = Elects.OUT_OF_SYNC, "was not in sync"
        # From here on the log goes without it, whatever explains that.
        state.over = True
        if not kind & elects or not self._enough_away(state, standing, at_ns):
            return None
        if kind in (Elects.DAMAGED, Elects.OUT_OF_SYNC) and not self._nobody_else(state, leader, at_ns):
            return None
        causes = self._causes({state.leader, leader}, at_ns, acked_ns)
        if copy is not None and copy.gone is not None:
            causes = joined([*causes, copy.gone.effect])
        if not causes:
            return None
        story = Story(f"{leader} became leader after {state.leader} at {_s(at_ns)}, and {lack}", causes)
        begun_ns = min([at_ns - LOOK_NS, *(cause.start_ns for cause in causes)])
        return SendFate(story, begun_ns)

    def _moved_in(self, state: _State, standing: Standing, at_ns: int, acked_ns: int) -> bool:
        """Return whether a host came in sync and became leader between two looks, because replicas were moved to it. It
        then has what all in sync had before, as each of them does after `lag_ns`."""
        lag_ns, two = self._mechanism.lag_ns, {state.leader, standing.leader}
        if standing.holders == state.before.holders or not acted_on(self._record, Act.MOVES, two, at_ns):
            return False
        return lag_ns is None or at_ns < self._followed_ns(acked_ns, lag_ns) + LOOK_NS

    def _nobody_else(self, state: _State, leader: str, at_ns: int) -> bool:
        """Return whether all others that were in sync, or all that store the partition, were away when a host became
        leader that is not, or that had lost its copies."""
        copy, standing, since_ns = state.copies.get(leader), state.before, at_ns - LOOK_NS
        if copy is not None and copy.gone is not None:
            since_ns = min(since_ns, copy.gone.effect.start_ns)
            standing = standing_at(self._standings, copy.gone.effect.start_ns)
        every = standing.in_sync is None or self._mechanism.alone
        others = (standing.holders if every else standing.in_sync or frozenset()) - {leader}
        return others <= hosts_under(self._record.effects, AWAY | Act.STOPS, since_ns, at_ns)

    def _enough_away(self, state: _State, standing: Standing, at_ns: int) -> bool:
        """Return whether as many of those that must be in sync had ended as it takes for a damaged one to lead."""
        ended = hosts_under(self._record.effects, Act.ENDS, NEVER, at_ns)
        return len(ended & standing.holders & state.required) >= self._mechanism.away

    def _causes(self, hosts: set[str], at_ns: int, acked_ns: int) -> tuple[Effect, ...]:
        return causes_of_election(self._record, hosts, at_ns, acked_ns, self._mechanism.lag_ns or 0)


def _s(at_ns: int) -> str:
    return f"{at_ns / 1e9:.1f} s"
