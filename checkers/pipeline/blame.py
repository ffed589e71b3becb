"""Which habit of an application explains what became of an input, in words that name the instance and the times."""

from __future__ import annotations

from chaoskit.base.columns import NONE
from checkers.pipeline.blamed import Blame
from checkers.pipeline.view import PipelineView

_NOTICED_NS = 1_500_000_000
"""By so much the record may be late: of owners, which are looked for, and of outputs, which are read."""

_NEVER = 2**63 - 1
_KEEP = "turn on there what is off"


_AS_FINISHED = "it commits inputs in the order in which they are finished; commit only up to the first one that is not"

_ONCE_DONE = "commit once the outputs of all inputs up to there are acknowledged"

_CLEAN = "status 0"
"""How an instance ends that was asked to, and did so by itself."""


def of_unprocessed(view: PipelineView, index: int) -> Blame:
    """Return why an input whose offset was committed has no output."""
    at_ns, _ = view.committed
    committed_ns = int(at_ns[index])
    if committed_ns == NONE:
        return Blame("nobody committed its offset, and what came after it was processed: it was skipped")
    for sink in view.sinks:
        if lost := _of_lost(view, index, sink.topic, committed_ns):
            return Blame(lost)
    return _of_commit(view, index, committed_ns) or _given_up(view, index, committed_ns)


def of_half_processed(view: PipelineView, index: int) -> Blame:
    """Return why an input has too few outputs in some sinks."""
    at_ns, _ = view.committed
    committed_ns, lacking = int(at_ns[index]), view.lacking(index)
    lost = next(filter(None, (_of_lost(view, index, topic, committed_ns) for topic in lacking)), "")
    blame = Blame(lost) if lost else _of_parted(view, index, committed_ns)
    if blame is None and committed_ns != NONE:
        blame = _of_commit(view, index, committed_ns)
    blame = blame or _of_relay(view, index, committed_ns)
    if blame is None:
        uncommitted = Blame("nobody committed its offset")
        blame = uncommitted if committed_ns == NONE else _given_up(view, index, committed_ns)
    return blame._replace(words=f"too few in {' and '.join(lacking)}: {blame.words}")


def _of_parted(view: PipelineView, index: int, committed_ns: int) -> Blame | None:
    """Return how an end between two outputs of an input left it with the first; None if nothing shows that."""
    output = view.first_output(index)
    if output is None:
        return None
    topic, since_ns, seen_ns = output
    until_ns = _NEVER if committed_ns == NONE else committed_ns
    for instance in _owners(view, int(view.place[index]), since_ns, seen_ns):
        end = view.ends.between(since_ns - _NOTICED_NS, until_ns, instance)
        if end is not None:
            after = "after" if view.ends.at_ns[end] >= seen_ns else "probably after"
            who = _ended(view, end) if instance is not None else f"{_ended(view, end)}, if that one had it,"
            seen = f"{who} {after} its output in {topic}, read at {_s(seen_ns)}"
            if committed_ns == NONE:
                return Blame(f"nobody committed its offset, and {seen}")
            return Blame(
                f"{seen}, and before its offset was committed at {_s(committed_ns)}: they are not one step, and a "
                "repetition leaves out the rest; write all in one transaction, such as with an outbox",
                NONE if instance is None else int(view.ends.op[end]),
            )
    return None


def _of_relay(view: PipelineView, index: int, committed_ns: int) -> Blame | None:
    """Return which other instance than that of an input ended after its first output, and may have been the one to
    write what is missing; None if none did."""
    output = view.first_output(index)
    if output is None:
        return None
    topic, since_ns, seen_ns = output
    until_ns = max(seen_ns, committed_ns) + 2 * view.commit_gap_ns + _NOTICED_NS
    owners = _owners(view, int(view.place[index]), since_ns, seen_ns, max(seen_ns, committed_ns))
    others = () if None in owners else sorted(set(view.ends.instance.tolist()).difference(owners))
    for instance in others:
        if (end := view.ends.between(since_ns, until_ns, instance)) is not None:
            return Blame(
                f"its output in {topic} was read at {_s(seen_ns)}, and {_ended(view, end)}, which did not own its "
                "partition: if that is a relay, it marks as published what nobody has acknowledged yet; look also at "
                "delivery reports"
            )
    return None


def _owners(view: PipelineView, place: int, *at_ns: int) -> list[int | None]:
    """Return the instances that owned a partition at some times; None for all if none is known."""
    known = [owner for owner in dict.fromkeys(view.owner(place, at) for at in at_ns) if owner != NONE]
    return [*known] or [None]


def _ended(view: PipelineView, end: int) -> str:
    ends = view.ends
    return f"application-{ends.instance[end]} ended at {_s(int(ends.at_ns[end]))} ({ends.words[end]})"


def _of_commit(view: PipelineView, index: int, committed_ns: int) -> Blame | None:
    """Return what happened about the commit of an input whose output is missing; None if nothing did."""
    place = int(view.place[index])
    owner = view.owner(place, committed_ns + _NOTICED_NS)
    before = view.owner(place, committed_ns)
    until_ns = committed_ns + 2 * view.commit_gap_ns + _NOTICED_NS
    for instance in dict.fromkeys((before, owner)):
        end = view.ends.between(committed_ns - _NOTICED_NS, until_ns, None if instance == NONE else instance)
        if end is not None:
            # Of those who share a partition, nobody knows which one had it.
            it = "it" if instance != NONE else "if that one had it, it"
            habit = f"{it} commits before its work is done; {_ONCE_DONE}"
            if instance != NONE and (back := view.steps_back(place, instance, int(view.ends.at_ns[end]))):
                habit = f"its commits went back {back:,} {'time' if back == 1 else 'times'}: {_AS_FINISHED}"
            return Blame(
                f"its offset was committed at {_s(committed_ns)}, and {_ended(view, end)}: {habit}",
                NONE if instance == NONE else int(view.ends.op[end]),
            )
    if view.moved(place, committed_ns - 2 * _NOTICED_NS, until_ns):
        return Blame(
            f"its offset was committed at {_s(committed_ns)}, when the partition went to another instance: it commits "
            "at a rebalance what it has not worked on yet; commit only what is done when partitions are revoked"
        )
    return None


def _given_up(view: PipelineView, index: int, committed_ns: int) -> Blame:
    """Return that an input was committed without an output, and nothing happened about that."""
    owner = view.owner(int(view.place[index]), committed_ns)
    who = "its instance" if owner == NONE else f"application-{owner}"
    return Blame(
        f"its offset was committed at {_s(committed_ns)}, and {who} went on running: it gave the output up and ignored "
        "the error; look at delivery reports, and end or repeat before the commit",
        view.begins.life(owner, committed_ns),
    )


def _of_lost(view: PipelineView, index: int, topic: str, committed_ns: int) -> str:
    """Return how a sink lost an output that it had; empty if nothing shows that."""
    gone, cuts = view.gone.get((index, topic)), [cut for cut in view.cuts if cut.topic == topic]
    if gone is not None:
        seen = f"its output was in {topic} at {_s(gone.seen_ns)}, and is gone since {_s(gone.missed_ns)}"
        cut = next((cut for cut in cuts if cut.at_ns <= gone.missed_ns and gone.seen_ns <= cut.done_ns), None)
        if cut is None:
            return f"{seen}: the sink lost it, or somebody deleted it"
        remedy = _KEEP if cut.forgets else "its settings keep what is committed; look for a session that changes them"
        return f"{seen}: the {cut.words} at {_s(cut.at_ns)} took what was not flushed; {remedy}"
    for cut in cuts if committed_ns != NONE else ():
        if cut.forgets and cut.at_ns - _NOTICED_NS <= committed_ns <= cut.done_ns:
            return (
                f"its offset was committed at {_s(committed_ns)}, about when the {cut.words} began at {_s(cut.at_ns)}, "
                f"which takes what was committed and not flushed; {_KEEP}"
            )
    return ""


def of_repeated(view: PipelineView, index: int, first_ns: int, again_ns: int) -> Blame:
    """Return why an input has more outputs than it should, the last one at `again_ns`."""
    at_ns, _ = view.committed
    place, committed_ns = int(view.place[index]), int(at_ns[index])
    owners = _owners(view, place, first_ns - _NOTICED_NS, first_ns, first_ns + _NOTICED_NS)
    ends = [view.ends.between(first_ns - _NOTICED_NS, again_ns, owner) for owner in owners]
    end = min((own for own in ends if own is not None), default=None)
    other = view.ends.between(first_ns - _NOTICED_NS, again_ns)
    if end is None and other is not None and _committed_before(view, committed_ns, other):
        end = other  # a relay need not own the partition
    if end is not None:
        if _committed_before(view, committed_ns, end):
            return _of_end_after_commit(view, index, end, first_ns, again_ns)
        return _of_end_before_commit(view, place, end, owned=None not in owners)
    if view.moved(place, first_ns - _NOTICED_NS, again_ns + _NOTICED_NS):
        return Blame(
            "the partition went to another instance after the output and before its offset was committed: it does not "
            "commit when its partitions are revoked; commit there, and wait for that"
        )
    if committed_ns != NONE and again_ns - _NOTICED_NS > committed_ns + view.commit_gap_ns:
        return Blame("its offset had been committed before: something else repeats it")
    if other is not None:
        return Blame(
            f"its instance went on running and its partition did not move; {_ended(view, other)}, which did not own "
            "it: a relay repeats what it had not marked yet, or its own instance what timed out, without idempotence"
        )
    return Blame(
        "its instance went on running and its partition did not move: it repeats what timed out, without idempotence; "
        "leave that to an idempotent producer, or send a key",
        of_owner(view, index, first_ns - _NOTICED_NS, again_ns),
    )


def _committed_before(view: PipelineView, committed_ns: int, end: int) -> bool:
    return committed_ns != NONE and committed_ns < int(view.ends.at_ns[end])


def _of_end_after_commit(view: PipelineView, index: int, end: int, first_ns: int, again_ns: int) -> Blame:
    """Return why an input was processed again whose offset had been committed before an instance ended."""
    committed_ns, ended_ns = int(view.committed[0][index]), int(view.ends.at_ns[end])
    committed = f"its offset had been committed at {_s(committed_ns)}"
    back_ns = view.back_before(index, committed_ns, ended_ns)
    holder = view.holder(int(view.place[index]), committed_ns, ended_ns)
    if back_ns != NONE and holder == int(view.ends.instance[end]):
        return Blame(
            f"{committed}, at {_s(back_ns)} the group went back to one before it, and {_ended(view, end)}: its "
            f"successor began there; {_AS_FINISHED}"
        )
    if back_ns != NONE:
        return Blame(
            f"{committed}, and at {_s(back_ns)} the group went back to one before it: who began there repeats it"
        )
    cuts = (cut for cut in view.cuts if cut.forgets and first_ns <= cut.done_ns and cut.at_ns <= again_ns)
    cut = next(cuts, None)
    unmarked = "that had not marked it yet as published"
    if cut is not None:
        unmarked = f"whose mark the {cut.words} at {_s(cut.at_ns)} took"
    return Blame(f"{committed}, before {_ended(view, end)}: something else repeats it, such as a relay {unmarked}")


def _of_end_before_commit(view: PipelineView, place: int, end: int, *, owned: bool) -> Blame:
    """Return what an end between the output of an input and its commit says of who ended; `owned`: it had owned the
    input's partition, else nobody knows who did."""
    owner = view.owner(place, int(view.ends.at_ns[end]))
    who = _ended(view, end) if owned else f"{_ended(view, end)}, if that one had it,"
    ended = f"{who} after the output and before its offset was committed"
    if view.ends.words[end] == _CLEAN:
        habit = "it does not commit before it ends; commit, and wait for that"
    else:
        relay = ", or what a relay publishes and marks is not" if len(view.sinks) > 1 else ""
        habit = f"they are not one step{relay}; put both into a transaction, or have the sink recognise what it has"
    return Blame(f"{ended}: {habit}", int(view.ends.op[end]) if owner == int(view.ends.instance[end]) else NONE)


def of_owner(view: PipelineView, index: int, since_ns: int, until_ns: int) -> int:
    """Return the operation by which the instance began that owned an input's partition all the time, or was given the
    input last; `NONE`: the record proves no instance."""
    if view.queue is None:
        instance = view.holder(int(view.place[index]), since_ns, until_ns + _NOTICED_NS)
    else:
        last = int(view.queue.last[index])
        instance = NONE if last == NONE else int(view.queue.instance[last])
    return view.begins.life(instance, until_ns)


def _s(at_ns: int) -> str:
    return f"{at_ns / 1e9:.2f} s"
