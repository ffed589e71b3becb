"""The final read of topics whose messages others made, and how such a message is recorded as one of the run."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from chaoskit.contract.clients.application import ReadRecord, RecordReader
from chaoskit.contract.clients.recorder import Recorder
from chaoskit.model.audit import Bounds
from chaoskit.model.message import Delivery
from chaoskit.model.payload import Writer
from chaoskit.model.place import Place

_BOUNDS_S = 10.0


def as_delivery(record: ReadRecord, writer: Writer, value: int, sent_ns: int, count: int | None = None) -> Delivery:
    """Return a record as the delivery of a value that was sent then, CLOCK_MONOTONIC: recorders know only payloads of
    the run. `count` is how often it had been delivered before, where that is marked."""
    content = writer.build(value, sent_ns, sent_ns)
    return Delivery(record.topic, record.partition, record.key, content, record.position, count)


def read_to_end(
    recorder: Recorder,
    reader: RecordReader,
    places: Sequence[Place],
    poll: Callable[[], bool],
    *,
    stall_s: float,
    stopping: Callable[[], bool] = lambda: False,
) -> list[Place]:
    """Read partitions to the ends that they have now, and record how far that came.

    Args:
        recorder: the client's recorder.
        reader: the reader.
        places: the partitions, by their names in the system.
        poll: reads and records what is there, and returns whether anything was.
        stall_s: the read ends if nothing comes for so long.
        stopping: returns whether it must end.

    Returns:
        The partitions whose end was not reached.

    Raises:
        ChaoskitError: the system does not tell an end.
    """
    bounds = {place: reader.bounds(place, _BOUNDS_S) for place in places}
    deadline = time.monotonic() + stall_s
    while time.monotonic() < deadline and not stopping():
        if all(reader.reached(place) >= end for place, (_, end) in bounds.items()):
            break
        if poll():
            deadline = time.monotonic() + stall_s
    unread = []
    for place, (low, end) in bounds.items():
        reached = reader.reached(place)
        recorder.audited(*place, Bounds(low, end, reached >= end, reached))
        unread += [place] if reached < end else []
    return unread
