"""Causes in the log and in how it is read: each creates one anomaly and declares what must be found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from chaoskit.testing.synthetic.edits import (
    CORRUPT,
    EXCHANGE,
    HIDE_FROM_AUDITOR,
    HIDE_FROM_CONSUMERS,
    REWIND,
    REWIND_BY,
)
from chaoskit.testing.synthetic.sends import FAIL, INFO, OK
from chaoskit.testing.synthetic.windows import QuietSection, Windows

_TAIL = 8
_MIDDLE = 12
_GHOST_PRODUCER = 1 << 22
_STALL_NS = 3_000_000_000


@dataclass(frozen=True, slots=True)
class InjectedCause:
    """An injectable cause.

    Attributes:
        words: what it does, and the resulting anomalies.
        make: injects it once.
        modes: modes of histories that it applies to.
    """

    words: str
    make: Callable[[Windows, str], None]
    modes: tuple[str, ...] = ("log", "group")


def lost_tail(windows: Windows, cause: str) -> None:
    window, tail = windows.tail(cause, _TAIL)
    window.edits.of(window.index).cut = len(tail)
    for at in tail:
        if window.sends.outcome[at] == OK:
            window.expect("lost", cause, value=window.value(at), op=window.op(at), at=at)
    first = tail[0]
    last_poll_ns, _ = windows.layout.poll_ns(np.array([windows.layout.slots - 1]), 0)
    if window.sends.appended_ns[: first + 1].max() <= last_poll_ns[0]:
        window.expect("truncated", cause, value=window.value(first), at=first)


def unseen(windows: Windows, cause: str) -> None:
    window, tail = windows.tail(cause, _TAIL)
    window.edits.of(window.index).unread = len(tail)
    for at in tail:
        window.flag(at, HIDE_FROM_CONSUMERS)
        if window.sends.outcome[at] == OK:
            window.expect("unseen", cause, value=window.value(at), op=window.op(at), at=at)


def lost_message(windows: Windows, cause: str) -> None:
    window = windows.take(cause)
    window.flag(_MIDDLE, HIDE_FROM_CONSUMERS | HIDE_FROM_AUDITOR)
    window.expect("lost", cause, value=window.value(_MIDDLE), op=window.op(_MIDDLE), at=_MIDDLE)


def divergent_log(windows: Windows, cause: str) -> None:
    window = windows.take(cause)
    window.flag(_MIDDLE, EXCHANGE)
    window.expect("offset-conflict", cause, at=_MIDDLE)


def resent_batch(windows: Windows, cause: str) -> None:
    window = windows.take(cause)
    producer = np.bincount(window.producer).argmax()
    batch = np.flatnonzero(window.producer == producer)[:3].tolist()
    start = min(max(_MIDDLE, batch[-1] + 1), window.size - len(batch))
    for copy, at in enumerate(batch):
        window.replace(start + copy, window.content(at))
        window.expect("duplicate", cause, value=window.value(at), at=start + copy)
    if len(batch) > 1:
        window.expect("sequence-jump", cause, value=window.value(batch[0]), at=start)


def late_insert(windows: Windows, cause: str) -> None:
    window = windows.take(cause)
    window.flag(_MIDDLE, HIDE_FROM_CONSUMERS)
    window.expect("late", cause, value=window.value(_MIDDLE), at=_MIDDLE)
    window.expect("skipped", cause, value=window.value(_MIDDLE + 1), at=_MIDDLE + 1)


def skipping_reader(windows: Windows, cause: str) -> None:
    window = windows.take(cause)
    for at in (_MIDDLE, _MIDDLE + 1):
        window.flag(at, HIDE_FROM_CONSUMERS)
    window.expect("skipped", cause, value=window.value(_MIDDLE + 2), at=_MIDDLE + 2)


def rewinding_reader(windows: Windows, cause: str) -> None:
    window = windows.take(cause)
    window.flag(_MIDDLE, REWIND)
    landing = _MIDDLE - REWIND_BY
    for anomaly in ("rewound", "redelivered"):
        window.expect(anomaly, cause, value=window.value(landing), at=landing)


def swapped(windows: Windows, cause: str) -> None:
    window = windows.take(cause)
    pairs = (pair for pair in combinations(range(window.size), 2) if _same_pipeline(window, *pair))
    pair = next(pairs, None)
    if pair is None:
        raise windows.refuse(cause, "no producer sends twice with the same key within a short time")
    window.exchange(*pair)
    window.expect("reordered", cause, value=window.value(pair[1]), op=window.op(pair[1]), at=pair[0])


def _same_pipeline(window: QuietSection, one: int, other: int) -> bool:
    return bool(window.producer[one] == window.producer[other] and window.key[one] == window.key[other])


def stale_append(windows: Windows, cause: str) -> None:
    window = windows.take(cause)
    ends, starts = window.sends.end_ns, window.sends.start_ns
    for one in range(window.size):
        later = np.flatnonzero((starts[: window.size] > ends[one]) & (window.producer != window.producer[one]))
        if later.size:
            window.exchange(one, int(later[0]))
            window.expect("order-violation", cause)
            return
    raise windows.refuse(cause, "no send ends shortly before another producer's begins; use a lower --rate")


def ghost(windows: Windows, cause: str) -> None:
    window = windows.take(cause)
    _, intended_ns, sent_ns, key = window.content(_MIDDLE)
    value = _GHOST_PRODUCER << 40 | len(windows.edits.truth)
    window.replace(_MIDDLE, (value, intended_ns, sent_ns, key))
    window.expect("phantom", cause, value=value, at=_MIDDLE)


def bit_flip(windows: Windows, cause: str) -> None:
    window = windows.take(cause)
    window.flag(_MIDDLE, CORRUPT)
    window.expect("corrupt", cause, at=_MIDDLE)
    window.expect("lost", cause, value=window.value(_MIDDLE), op=window.op(_MIDDLE), at=_MIDDLE)


def wrong_partition(windows: Windows, cause: str) -> None:
    window = windows.take(cause)
    other = windows.take(cause, other_than=window.index)
    other.end(_MIDDLE, INFO, "_MSG_TIMED_OUT")
    other.drop(_MIDDLE)
    window.replace(_MIDDLE, other.content(_MIDDLE))
    window.expect("misrouted", cause, value=other.value(_MIDDLE), at=_MIDDLE)


def failed_but_stored(windows: Windows, cause: str) -> None:
    window = windows.take(cause)
    window.end(_MIDDLE, FAIL, "NOT_ENOUGH_REPLICAS")
    window.expect("failed-visible", cause, value=window.value(_MIDDLE), op=window.op(_MIDDLE), at=_MIDDLE)


def dedup_drop(windows: Windows, cause: str) -> None:
    window = windows.take(cause)
    window.end(_MIDDLE, OK, "duplicate")
    window.drop(_MIDDLE)
    for anomaly in ("dropped-as-duplicate", "lost"):
        window.expect(anomaly, cause, value=window.value(_MIDDLE), op=window.op(_MIDDLE))


def stall(windows: Windows, cause: str) -> None:
    layout = windows.layout
    begin_ns = int(layout.begin_ns(np.array(windows.slots(cause))))
    windows.edits.stalls.append((begin_ns, begin_ns + _STALL_NS))
    windows.avoid(begin_ns, begin_ns + _STALL_NS)
    windows.edits.truth.append({"anomaly": "unavailable", "cause": cause})


LOG_CAUSES = {
    "stall": InjectedCause("nothing is acknowledged for a while, without a fault: unavailable", stall),
    "lost-tail": InjectedCause(
        "the acknowledged end of a partition disappears: lost; truncated if it was read", lost_tail
    ),
    "unseen": InjectedCause("the end of a partition is not read, and the final read is incomplete: unseen", unseen),
    "lost-message": InjectedCause("an acknowledged message disappears from its position: lost", lost_message),
    "divergent-log": InjectedCause("readers see different values at the same position: offset-conflict", divergent_log),
    "resent-batch": InjectedCause("a batch is stored twice: duplicate, sequence-jump", resent_batch),
    "late-insert": InjectedCause("a message appears behind a reader: late, skipped", late_insert),
    "swapped": InjectedCause("two sends of one producer are stored in reverse order: reordered", swapped),
    "stale-append": InjectedCause("a send is stored after one that began after its ack: order-violation", stale_append),
    "skipping-reader": InjectedCause("consumers skip two messages: skipped", skipping_reader),
    "rewinding-reader": InjectedCause("consumers move back: rewound, redelivered", rewinding_reader),
    "ghost": InjectedCause("a message appears that was never sent: phantom", ghost),
    "bit-flip": InjectedCause("a message is damaged: corrupt, lost", bit_flip),
    "wrong-partition": InjectedCause("a message is stored in another partition: misrouted", wrong_partition),
    "failed-but-stored": InjectedCause("a failed send is stored: failed-visible", failed_but_stored),
    "dedup-drop": InjectedCause("a new message is dropped as a duplicate: dropped-as-duplicate, lost", dedup_drop),
}  # fmt: skip
"""In the order of injection: causes that take time come first."""
