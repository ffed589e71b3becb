"""Which habit of an application explains what became of an input, in words that name the instance and the times."""

from __future__ import annotations

from chaoskit.base.columns import NONE
from checkers.pipeline.blamed import Blame
from checkers.pipeline.view import PipelineView

_NOTICED_NS = 1_500_000_000
"""By so much the record may be late: of owners, which are looked for, and of outputs, which are read."""

_KEEP = "set synchronous_commit: on and fsync: on"


_CLEAN = "status 0"
"""How an instance ends that was asked to, and did so by itself."""


def of_unprocessed(view: PipelineView, index: int) -> Blame:
    """Return why an input whose offset was committed has no output."""
    at_ns, _ = view.committed
    committed_ns, place = int(at_ns[index]), int(view.place[index])
    if committed_ns == NONE:
        return Blame("nobody committed its offset, and what came after it was processed: it was skipped")
    if lost := _of_lost(view, index, committed_ns):
        return Blame(lost)
    owner = view.owner(place, committed_ns + _NOTICED_NS)
    before = view.owner(place, committed_ns)
    until_ns = committed_ns + 2 * view.commit_gap_ns + _NOTICED_NS
    for instance in dict.fromkeys((before, owner)):
        end = view.ends.between(committed_ns - _NOTICED_NS, until_ns, None if instance == NONE else instance)
        if end is not None:
            ended = f"application-{view.ends.instance[end]} ended at {_s(int(view.ends.at_ns[end]))}"
            # Of those who share a partition, nobody knows which one had it.
            it = "it" if instance != NONE else "if that one had it, it"
            return Blame(
                f"its offset was committed at {_s(committed_ns)}, and {ended} ({view.ends.words[end]}): {it} commits "
                "before its work is done; commit once the outputs are acknowledged",
                NONE if instance == NONE else int(view.ends.op[end]),
            )
    if view.moved(place, committed_ns - 2 * _NOTICED_NS, until_ns):
        return Blame(
            f"its offset was committed at {_s(committed_ns)}, when the partition went to another instance: it commits "
            "at a rebalance what it has not worked on yet; commit only what is done when partitions are revoked"
        )
    who = "its instance" if before == NONE else f"application-{before}"
    return Blame(
        f"its offset was committed at {_s(committed_ns)}, and {who} went on running: it gave the output up and ignored "
        "the error; look at delivery reports, and end or repeat before the commit",
        view.begins.life(before, committed_ns),
    )


def _of_lost(view: PipelineView, index: int, committed_ns: int) -> str:
    """Return how the sink lost an output that it had; empty if nothing shows that."""
    gone = view.gone.get(index)
    if gone is not None:
        seen = f"its output was in {gone.topic} at {_s(gone.seen_ns)}, and is gone since {_s(gone.missed_ns)}"
        cut = next((cut for cut in view.cuts if cut.at_ns <= gone.missed_ns and gone.seen_ns <= cut.done_ns), None)
        if cut is None:
            return f"{seen}: the sink lost it, or somebody deleted it"
        remedy = _KEEP if cut.forgets else "its settings keep what is committed; look for a session that changes them"
        return f"{seen}: the {cut.words} at {_s(cut.at_ns)} took what was not flushed; {remedy}"
    for cut in view.cuts:
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
    end = view.ends.between(first_ns - _NOTICED_NS, again_ns)
    if end is not None:
        ended = f"application-{view.ends.instance[end]} ended at {_s(int(view.ends.at_ns[end]))}"
        clean = view.ends.words[end] == _CLEAN
        owned_it = view.owner(place, int(view.ends.at_ns[end])) == int(view.ends.instance[end])
        habit = (
            "it does not commit before it ends; commit, and wait for that"
            if clean
            else "they are not one step; put both into a transaction, or have the sink recognise what it has"
        )
        return Blame(
            f"{ended} ({view.ends.words[end]}) after the output and before its offset was committed: {habit}",
            int(view.ends.op[end]) if owned_it else NONE,
        )
    if view.moved(place, first_ns - _NOTICED_NS, again_ns + _NOTICED_NS):
        return Blame(
            "the partition went to another instance after the output and before its offset was committed: it does not "
            "commit when its partitions are revoked; commit there, and wait for that"
        )
    if committed_ns != NONE and again_ns - _NOTICED_NS > committed_ns + view.commit_gap_ns:
        return Blame("its offset had been committed before: something else repeats it")
    return Blame(
        "no instance ended and no partition moved: it repeats what timed out, without idempotence; leave that to an "
        "idempotent producer, or send a key",
        of_owner(view, index, first_ns - _NOTICED_NS, again_ns),
    )


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
