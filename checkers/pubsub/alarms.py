"""What subscribers were told, or not, of publishers that ended and of times without messages.

A publisher has surely ended once the same client was started again, and surely was there while its own sends followed
each other within the time after which it counts as not alive. Of a publisher that ended and was not started again,
nothing is concluded, nor of a subscriber that did not ask for messages meanwhile: it may have been standing still.

When a message arrived is uncertain: after it was sent, and before it was recorded. A time without messages is one for
certain if it is from the record of one to the sending of the next. It is surely none if each message was recorded
within the deadline of the sending of the one before.

Cost: O(n) for each subscription that is told something, and for each alarm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints
from chaoskit.contract.checkers.anomaly import About, Anomaly
from checkers.arrays.findings import findings_of, merged, no_findings
from checkers.arrays.models import FEEDS
from checkers.pubsub.view import FeedView, Stay
from checkers.pubsub.watch import UNSENT_NS, Watch

TOLD_NS = 1_000_000_000
"""How much later than promised a subscriber may be told."""

UNNOTICED = Anomaly(
    "unnoticed",
    "a subscriber got no notice in time that a publisher had ended, or that no message came",
    FEEDS,
    about=About.READING,
)

FALSE_ALARM = Anomaly(
    "false-alarm",
    "a subscriber got a false notice that a publisher was not alive, or that no message came",
    FEEDS,
    about=About.READING,
)

UNNOTICED_DETAILS = ("a publisher ended", "no message came within the deadline")
FALSE_ALARM_DETAILS = ("the publisher went on publishing", "messages came within the deadline")
_PUBLISHER, _DEADLINE = range(2)


class _Case(NamedTuple):
    detail: int
    value: int
    op: int
    other_op: int
    since_ns: int
    at_ns: int


def alarm_cases(view: FeedView) -> pa.Table:
    """Find ends and times without messages that were `unnoticed`, and each `false-alarm`.

    Evidence: of the first, `op` is the last send of the publisher, or the last receive, `since_ns` its time, `other_op`
    began the subscription, which should have been told until `at_ns`. Of the second, `op` was told at `at_ns`, and
    `other_op` is a send of the publisher after that, or the last receive before.
    """
    unnoticed: list[_Case] = []
    false: list[_Case] = []
    watched = [stay for stay in view.single if stay.liveliness_ns or stay.deadline_ns]
    if not watched:
        return no_findings()
    watch = Watch(view)
    for stay in watched:
        if stay.liveliness_ns:
            unnoticed += _ends_unnoticed(view, watch, stay)
            false += _alive(view, watch, stay)
        if stay.deadline_ns:
            arrivals = _Arrivals(view, watch, stay)
            unnoticed += _pauses_unnoticed(view, watch, stay, arrivals)
            false += _in_time(view, watch, stay, arrivals)
    return merged(
        [
            _findings(view, UNNOTICED, UNNOTICED_DETAILS, unnoticed),
            _findings(view, FALSE_ALARM, FALSE_ALARM_DETAILS, false),
        ]
    )


def _ends_unnoticed(view: FeedView, watch: Watch, stay: Stay) -> list[_Case]:
    log, apart_ns = view.log, view.log.setting.apart_ns
    heard, alarms, cases = watch.heard(stay), watch.alarms(stay), []
    for end in watch.ends:
        promised_ns = end.until_ns + stay.liveliness_ns
        due_ns = promised_ns + TOLD_NS + apart_ns
        if end.process not in heard or end.since_ns < stay.from_ns or due_ns > stay.until_ns:
            continue
        alarmed = any(
            alarm.publisher == end.process and end.since_ns - apart_ns <= alarm.at_ns <= due_ns for alarm in alarms
        )
        if not alarmed and watch.asked(stay, end.since_ns, due_ns, TOLD_NS):
            last = watch.sends(end.process)[0][-1]
            value, op = int(log.sends.value[last]), int(log.operations.op[log.sends.operation[last]])
            began = int(log.operations.op[stay.row])
            cases.append(_Case(_PUBLISHER, value, op, began, end.since_ns, promised_ns))
    return cases


def _alive(view: FeedView, watch: Watch, stay: Stay) -> list[_Case]:
    log, cases = view.log, []
    later_ns = watch.next_ns(stay)
    for alarm in watch.of(stay):
        if alarm.silent or not stay.from_ns <= alarm.at_ns < later_ns:
            continue
        sends, starts = watch.sends(alarm.publisher)
        began_ns = alarm.at_ns - stay.liveliness_ns - TOLD_NS - log.setting.apart_ns
        first = int(np.searchsorted(starts, began_ns, side="right")) - 1
        after = int(np.searchsorted(starts, alarm.at_ns + log.setting.apart_ns, side="right"))
        if first < 0 or after == starts.size or np.diff(starts[first : after + 1]).max() >= stay.liveliness_ns:
            continue
        if not watch.asked(stay, began_ns, alarm.at_ns, min(TOLD_NS, stay.liveliness_ns) // 2):
            continue
        value, other_op = log.sends.value[sends[after]], log.operations.op[log.sends.operation[sends[after]]]
        cases.append(_Case(_PUBLISHER, int(value), alarm.op, int(other_op), NONE, alarm.at_ns))
    return cases


class _Arrivals:
    """When the messages of a subscription were sent, and recorded, in order of the latter.

    Attributes:
        row: row of each receive.
        sent_ns: when it was sent.
        received_ns: when it was recorded.
    """

    def __init__(self, view: FeedView, watch: Watch, stay: Stay) -> None:
        log = view.log
        at_ns = log.receives.received_ns
        own = view.member_of[log.receives.operation] == stay.member
        rows = np.flatnonzero(own & (at_ns >= stay.from_ns) & (at_ns <= stay.until_ns))
        self.row = rows[np.argsort(at_ns[rows], kind="stable")]
        self.received_ns = at_ns[self.row]
        self.sent_ns = watch.sent_ns[self.row]


def _pauses_unnoticed(view: FeedView, watch: Watch, stay: Stay, arrivals: _Arrivals) -> list[_Case]:
    log, apart_ns = view.log, view.log.setting.apart_ns
    if not arrivals.row.size:
        return []
    next_ns = np.append(np.minimum.accumulate(arrivals.sent_ns[::-1])[::-1][1:], stay.until_ns)
    long = next_ns - apart_ns - arrivals.received_ns >= stay.deadline_ns + TOLD_NS
    alarms = [alarm.at_ns for alarm in watch.alarms(stay) if alarm.silent]
    cases = []
    for index in np.flatnonzero(long & (arrivals.sent_ns != UNSENT_NS)).tolist():
        since_ns, from_ns = int(arrivals.received_ns[index]), int(arrivals.sent_ns[index]) - apart_ns
        due_ns = since_ns + stay.deadline_ns + TOLD_NS + apart_ns
        if due_ns > stay.until_ns or not watch.publishing(since_ns - apart_ns, due_ns):
            continue
        alarmed = any(from_ns <= alarm <= due_ns for alarm in alarms)
        if not alarmed and watch.asked(stay, since_ns, due_ns, TOLD_NS):
            row = arrivals.row[index]
            value, op = log.receives.value[row], log.operations.op[log.receives.operation[row]]
            began = int(log.operations.op[stay.row])
            cases.append(_Case(_DEADLINE, int(value), int(op), began, since_ns, since_ns + stay.deadline_ns))
    return cases


def _in_time(view: FeedView, watch: Watch, stay: Stay, arrivals: _Arrivals) -> list[_Case]:
    log, cases = view.log, []
    at_ns = arrivals.received_ns
    longest = at_ns[1:] - arrivals.sent_ns[:-1] + log.setting.apart_ns
    for alarm in watch.alarms(stay):
        if not alarm.silent:
            continue
        first = int(np.searchsorted(at_ns, alarm.at_ns - TOLD_NS, side="right")) - 1
        last = int(np.searchsorted(at_ns, alarm.at_ns))
        if first < 0 or last == at_ns.size or longest[first:last].max() > stay.deadline_ns:
            continue
        row = arrivals.row[last - 1]
        value, op = log.receives.value[row], log.operations.op[log.receives.operation[row]]
        cases.append(_Case(_DEADLINE, int(value), alarm.op, int(op), NONE, alarm.at_ns))
    return cases


def _findings(view: FeedView, anomaly: Anomaly, details: tuple[str, ...], cases: list[_Case]) -> pa.Table:
    columns: Ints = np.array(cases, np.int64).reshape(-1, len(_Case._fields)).T
    named = dict(zip(_Case._fields, columns, strict=True))
    return findings_of(
        view.log.setting, anomaly, details=details, position=np.full(len(cases), NONE, np.int64), **named
    )
