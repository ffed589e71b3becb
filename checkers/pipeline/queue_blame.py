"""Which habit of an application explains what became of an input of a queue."""

from __future__ import annotations

from chaoskit.base.columns import NONE
from checkers.pipeline.blamed import Blame
from checkers.pipeline.queued import AUTO_ACK, CONFIRMED, GIVEN, NACK, PUBLISHED, REJECT, QueueRecord
from checkers.pipeline.view import PipelineView

_NOTICED_NS = 1_500_000_000
"""By so much the record may be late of outputs, which are read."""

_WORKS_NS = 10_000_000_000
"""What an instance acknowledged so long before its end, it is not taken to have been working on."""


def of_unprocessed(view: PipelineView, index: int) -> Blame:
    """Return why an input that no queue has any more has no output."""
    record = _record(view)
    last = int(record.last[index])
    if last == NONE or not record.done[index]:
        return of_left(view, index)
    at, who, life = _s(int(record.at_ns[last])), f"application-{record.instance[last]}", _life(view, last)
    if not record.settled[index]:
        return Blame(
            f"{who} was given it at {at}, after it had been returned {record.returns[index]} times, and did not settle "
            "it: its queue drops what is returned more often; settle what cannot be done, or give the queue a dead "
            "letter exchange",
            life,
        )
    if int(record.act[last]) == REJECT:
        return Blame(
            f"{who} rejected it at {at} without requeueing, and its queue has no dead letter exchange: it is gone; "
            "requeue what may succeed later, or give the queue a dead letter exchange",
            life,
        )
    end = view.ends.between(int(record.at_ns[last]), int(record.at_ns[last]) + _WORKS_NS, int(record.instance[last]))
    ended = "" if end is None else f", and {who} ended at {_s(int(view.ends.at_ns[end]))} ({view.ends.words[end]})"
    return Blame(_of_acknowledged(record, index, who, ended), life if end is None else int(view.ends.op[end]))


def _of_acknowledged(record: QueueRecord, index: int, who: str, ended: str) -> str:
    """Return why an acknowledged input has no output; `ended` is how its instance ended afterwards, if it did."""
    last = int(record.last[index])
    at, published = _s(int(record.at_ns[last])), record.of(index, PUBLISHED)
    if int(record.act[last]) == AUTO_ACK:
        return (
            f"it was sent to {who} at {at}, which consumes with automatic acknowledgement{ended}: a message counts as "
            "acknowledged as soon as it is sent; acknowledge it by hand, once the output is confirmed"
        )
    if published.size:
        return (
            f"{who} published its output at {_s(int(record.at_ns[published[-1]]))}, which was not confirmed, and "
            f"acknowledged the input at {at}: it does not wait for publisher confirms; acknowledge the input once the "
            "output is confirmed"
        )
    if ended:
        return (
            f"{who} acknowledged it at {at}{ended}: it acknowledges before its work is done; acknowledge it once the "
            "output is confirmed"
        )
    return (
        f"{who} acknowledged it at {at}, went on running, and published nothing: it gave the output up and ignored the "
        "error; requeue the input instead"
    )


def of_left(view: PipelineView, index: int) -> Blame:
    """Return what became of an input that is not settled."""
    record = _record(view)
    given = record.of(index, GIVEN)
    if not given.size:
        return Blame("nobody was given it")
    last = int(record.last[index])
    who, at, life = f"application-{record.instance[last]}", _s(int(record.at_ns[last])), _life(view, last)
    if int(record.act[last]) == NACK:
        return Blame(f"{who} returned it at {at}, after {given.size} deliveries", life)
    if record.settled[index]:
        return Blame(f"{who} settled it at {at}, and that did not take effect", life)
    return Blame(f"{who} was given it at {at}, and did not settle it", life)


def of_dead_lettered(view: PipelineView, index: int) -> Blame:
    """Return what became of an input that is among the dead letters."""
    record = _record(view)
    last, given = int(record.last[index]), record.of(index, GIVEN).size
    if last == NONE:
        return Blame("nobody was seen giving it back")
    who, at = f"application-{record.instance[last]}", _s(int(record.at_ns[last]))
    did = "rejected it without requeueing" if int(record.act[last]) == REJECT else "was the last to have it"
    deliveries = f"{given} {'delivery' if given == 1 else 'deliveries'}"
    return Blame(f"{who} {did} at {at}, after {deliveries}", _life(view, last))


def of_unconfirmed(view: PipelineView, index: int) -> Blame:
    """Return why none of the outputs of an input was confirmed."""
    record = _record(view)
    last = int(record.of(index, PUBLISHED)[-1])
    instance = int(record.instance[last])
    if ((record.act == CONFIRMED) & (record.instance == instance)).any():
        return Blame(f"application-{instance} published it last, and no confirm of it was seen")
    return Blame(
        f"nothing was ever confirmed to application-{instance}: it asks for no publisher confirms, or its queues took "
        "nothing"
    )


def of_repeated(view: PipelineView, index: int, first_ns: int, again_ns: int) -> Blame:
    """Return why an input has more outputs than it should, the last one at `again_ns`."""
    record = _record(view)
    given = record.of(index, GIVEN)
    if given.size < 2:
        return Blame(
            "it was delivered once: the application publishes again what was not confirmed in time; give the output a "
            "message_id by which the sink recognises what it has",
            _life(view, int(given[0])) if given.size else NONE,
        )
    returned = record.of(index, NACK)
    if returned.size and first_ns - _NOTICED_NS <= int(record.at_ns[returned[-1]]) <= again_ns:
        who = f"application-{record.instance[returned[-1]]}"
        return Blame(
            f"{who} returned it at {_s(int(record.at_ns[returned[-1]]))}, after its output: it returns what is done; "
            "acknowledge what has been published",
            _life(view, int(returned[-1])),
        )
    holder = int(record.instance[given[-2]])
    end = view.ends.between(first_ns - _NOTICED_NS, again_ns, holder)
    why = (
        f"the input was delivered again at {_s(int(record.at_ns[given[-1]]))}, since a connection or channel of "
        f"application-{holder} ended after the output and before its acknowledgement arrived"
        if end is None
        else f"application-{holder} ended at {_s(int(view.ends.at_ns[end]))} ({view.ends.words[end]}) after the output "
        "and before it acknowledged the input"
    )
    return Blame(
        f"{why}: they are not one step; have the sink recognise what it has, such as by message_id",
        _life(view, int(given[-2])) if end is None else int(view.ends.op[end]),
    )


def _life(view: PipelineView, act: int) -> int:
    """Return the operation by which the instance of an act had begun."""
    record = _record(view)
    return view.begins.life(int(record.instance[act]), int(record.at_ns[act]))


def _record(view: PipelineView) -> QueueRecord:
    record = view.queue
    assert record is not None
    return record


def _s(at_ns: int) -> str:
    return f"{at_ns / 1e9:.2f} s"
