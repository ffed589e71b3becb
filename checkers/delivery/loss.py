"""Acknowledged messages that are missing, and messages that should not exist.

A message is missing if its send was acknowledged and no reader, including the final read, received it intact,
or if a complete final read does not find it although it was read before. That alone proves nothing, because
its position may not have been read. It is *lost* if something proves that a reader passed it, otherwise
*unseen*; below the first position that the broker reports it is *expired* instead. What cannot be concluded:
without a final read nothing is known about messages after the last position read, and a missing message with
unknown position may have expired if any did.

Cost: O(n) time, no memory beyond the view's.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Flags, Ints
from chaoskit.contract.checkers.anomaly import Anomaly, Gone
from chaoskit.model.message import PRODUCER_SHIFT
from checkers.arrays.columns import distinct, marked
from checkers.arrays.ends import FAIL
from checkers.arrays.findings import findings_of, no_findings
from checkers.arrays.models import LOGS, SENT
from checkers.arrays.view import LogView

LOST_DETAILS = (
    "audited",
    "read before, and gone at the final read",
    "below a position that was read",
    "a later acknowledged message of its producer is visible",
    "the system says that it cannot read it",
    "removed before its compaction lag was over",
)
UNSEEN_DETAILS = (
    "the audit is incomplete",
    "its position is unknown and earlier positions expired",
    "a message of its key, of which nobody knows whether it was stored, may stand for it",
)
EXPIRED_DETAILS = ("below the first position", "its position is unknown, it was read, and earlier positions expired")
TRUNCATED_DETAILS = ("high watermark went back below it", "position is gone")

_LOST = _AUDITED, _GONE, _BELOW, _FOLLOWED, _UNREADABLE, _EARLY = range(6)
_UNSEEN = _UNPROVEN, _UNKNOWN, _DOUBTFUL = range(6, 9)
_EXPIRED, _EXPIRED_READ = range(9, 11)


LOST = Anomaly(
    "lost",
    "an acknowledged message is lost",
    SENT,
    implies=("dropped-as-duplicate", "resurrected", "offset-conflict", "reordered", "order-violation", "sequence-jump"),
    gone=Gone.LOST,
    tabled=True,
)


def lost_cases(view: LogView) -> pa.Table:
    """Find acknowledged messages that are provably gone.

    Acked, never visible, and either audited, or at or below the highest position that was read, or (if the
    acknowledgement did not report a position) followed by a visible acknowledged message of the same producer.
    Jepsen: lost-write. Beyond Jepsen: acked, read before, and not found by a complete final read; the log lost
    it, even if a reader received it in time. Evidence: `op` sent it and `at_ns` is its acknowledgement; `other_`
    is the audit's end, the highest read, or the following message.
    """
    fates = _fates(view)
    gone = np.isin(fates, _LOST)
    rows, fate = view.missing[gone], fates[gone]
    other_value, other_position, other_op = _proofs(view, rows, fate)
    return findings_of(
        view.setting,
        LOST,
        details=LOST_DETAILS,
        detail=fate,
        **send_evidence(view, rows),
        other_value=other_value,
        other_position=other_position,
        other_op=other_op,
    )


UNSEEN = Anomaly(
    "unseen",
    "an acknowledged message was not seen, but there is no proof that it is lost",
    SENT,
    doubt="not proof of loss: the final read did not reach it, or a setting may have dropped it",
    gone=Gone.UNSEEN,
)


def unseen_cases(view: LogView) -> pa.Table:
    """Find acknowledged messages that were not received, without proof that they are lost.

    Jepsen: unseen. Evidence: `op` sent it and `at_ns` is its acknowledgement.
    """
    fates = _fates(view)
    chosen = np.isin(fates, _UNSEEN)
    return findings_of(
        view.setting,
        UNSEEN,
        details=UNSEEN_DETAILS,
        detail=fates[chosen] - _UNPROVEN,
        **send_evidence(view, view.missing[chosen]),
    )


EXPIRED = Anomaly(
    "expired",
    "an acknowledged message was deleted from the beginning of its log",
    LOGS,
    gone=Gone.EXPIRED,
    became="were deleted by the system",
)


def expired_cases(view: LogView) -> pa.Table:
    """Find acknowledged messages below the first position that the broker reported at the end.

    What the system says of itself excuses nothing: whether the declared retention explains it, guarantees decide.
    Evidence: `op` sent it and `at_ns` is its acknowledgement.
    """
    fates = _fates(view)
    chosen = (fates == _EXPIRED) | (fates == _EXPIRED_READ)
    return findings_of(
        view.setting,
        EXPIRED,
        details=EXPIRED_DETAILS,
        detail=fates[chosen] - _EXPIRED,
        **send_evidence(view, view.missing[chosen]),
    )


DROPPED = Anomaly(
    "dropped-as-duplicate",
    "a new message was acknowledged as a duplicate and is lost",
    LOGS,
    implies=("lost", "sequence-jump"),
)


def dropped_cases(view: LogView) -> pa.Table:
    """Find new messages that were acknowledged as duplicates and are missing: losses caused by deduplication.

    Each of them is also `lost`. Evidence: `op` sent it and `at_ns` is its acknowledgement.
    """
    rows = view.missing[_fates(view) <= _FOLLOWED]
    rows = rows[view.operations.duplicate[view.sends.operation[rows]]]
    return findings_of(view.setting, DROPPED, details=(), **send_evidence(view, rows))


FAILED_VISIBLE = Anomaly("failed-visible", "a message whose send definitely failed was received", SENT)


def failed_visible_cases(view: LogView) -> pa.Table:
    """Find received messages for which every send definitely failed.

    Jepsen: G1a, except for sends that were aborted with their transaction (`aborted-read`). Evidence: `op` sent
    it; `position`, `other_op` and `at_ns` are its first receive.
    """
    fate = view.operations.fate[view.sends.operation]
    failed = np.flatnonzero(fate == FAIL)
    if not failed.size:
        return no_findings()
    sent_otherwise = marked(view.values.size, view.sent_values[fate != FAIL])
    values = view.sent_values[failed]
    chosen = view.visible[values] & ~sent_otherwise[values]
    rows, receives = failed[chosen], view.first_received(values[chosen])
    return findings_of(
        view.setting,
        FAILED_VISIBLE,
        value=view.sends.value[rows],
        position=view.intact.position[receives],
        op=view.operations.op[view.sends.operation[rows]],
        other_op=view.operations.op[view.intact.operation[receives]],
        at_ns=view.intact.received_ns[receives],
    )


TRUNCATED = Anomaly(
    "truncated",
    "a position that was read no longer exists: the log was truncated",
    LOGS,
    implies=(
        "lost",
        "resurrected",
        "late",
        "rewound",
        "skipped",
        "offset-conflict",
        "redelivered",
        "reordered",
        "order-violation",
        "dropped-as-duplicate",
        "sequence-jump",
        "commit-regression",
        "commit-beyond",
        "torn-transaction",
        "zombie-write",
        "unacked-vanished",
        "fifo-violation",
    ),
    gone=Gone.CUT,
)


def truncated_cases(view: LogView) -> pa.Table:
    """Find positions that a consumer read and that are missing from the log.

    Read by any client except the auditor, not expired, and either at or after the end that the broker reported
    after healing, and before the auditor asked for it; or passed over by a complete audit. One finding per
    position and value. Evidence: `op` and `at_ns` are its first read, `other_position` is the audit's end.
    """
    audit = view.setting.bounds
    if audit is None:
        return no_findings()
    reads, audited = view.receives, view.operations.audits[view.receives.operation]
    rows = np.flatnonzero(view.truncated(reads.position, view.read_positions, reads.received_ns) & ~audited)
    rows = rows[distinct(reads.position[rows], reads.value[rows])]
    return findings_of(
        view.setting,
        TRUNCATED,
        details=TRUNCATED_DETAILS,
        detail=np.where(reads.position[rows] >= audit.end, 0, 1),
        value=reads.value[rows],
        position=reads.position[rows],
        op=view.operations.op[reads.operation[rows]],
        other_position=np.full(rows.size, audit.end),
        at_ns=reads.received_ns[rows],
    )


def _fates(view: LogView) -> Ints:
    """Return the fate of each missing message."""
    audit = view.setting.bounds
    low = audit.low if audit else 0
    position = view.sends.position[view.missing]
    unknown = position == NONE
    audited = np.full(position.size, audit is not None and audit.complete)
    once_seen = view.visible[view.sent_values[view.missing]]
    highest = view.receives.position.max(initial=NONE)
    early, doubtful = _compacted(view)
    fates = np.select(
        [
            ~unknown & (position < low),
            ~unknown & view.unreadable(position),
            doubtful,
            unknown & (low > 0) & once_seen,
            unknown & (low > 0),
            audited & once_seen,
            audited,
            ~unknown & (position <= highest),
        ],
        [_EXPIRED, _UNREADABLE, _DOUBTFUL, _EXPIRED_READ, _UNKNOWN, _GONE, _AUDITED, _BELOW],
        np.where(unknown & (_followers(view, view.missing) != NONE), _FOLLOWED, _UNPROVEN),
    )
    return np.where(early & np.isin(fates, (_AUDITED, _GONE)), _EARLY, fates)


def _compacted(view: LogView) -> tuple[Flags, Flags]:
    """Return which missing messages of a compacted log were removed too early, and which may have been removed because
    of a message whose outcome nobody knows: a deletion whose time is over, or, if the final read did not reach the
    end, any."""
    values, keyed, audit = view.sent_values[view.missing], view.keyed, view.setting.audit
    if keyed is None:
        return np.zeros(values.size, np.bool_), np.zeros(values.size, np.bool_)
    early = view.replaced_ns[values] <= view.read_ns
    open_ = view.open_sends & (keyed.key > 0)
    if audit is not None and audit.complete:
        open_ &= keyed.expires_ns <= view.read_ns
    doubtful = np.isin(keyed.key[values], keyed.key[open_]) & (keyed.lag_over_ns[values] <= view.read_ns)
    return early, doubtful & ~early


def _followers(view: LogView, rows: Ints) -> Ints:
    """Return for each send the next acknowledged visible send of its producer, or `NONE`."""
    visible = np.flatnonzero(view.acked & view.visible[view.sent_values])
    if not (rows.size and visible.size):
        return np.full(rows.size, NONE)
    visible = visible[np.argsort(view.sends.value[visible], kind="stable")]
    value, visible_value = view.sends.value[rows], view.sends.value[visible]
    following = np.searchsorted(visible_value, value, side="right")
    last = np.minimum(following, visible.size - 1)
    same_producer = visible_value[last] >> PRODUCER_SHIFT == value >> PRODUCER_SHIFT
    return np.where((following < visible.size) & same_producer, visible[last], NONE)


def _proofs(view: LogView, rows: Ints, fate: Ints) -> tuple[Ints, Ints, Ints]:
    """Return value, position and operation of the proof for each of these lost sends."""
    audit, reads = view.setting.bounds, view.receives
    below, followed = fate == _BELOW, fate == _FOLLOWED
    value, op = np.full(rows.size, NONE), np.full(rows.size, NONE)
    position = np.full(rows.size, audit.end if audit else NONE)
    if below.any():
        highest = reads.position.argmax()
        value[below], position[below] = reads.value[highest], reads.position[highest]
        op[below] = view.operations.op[reads.operation[highest]]
    followers = _followers(view, rows[followed])
    value[followed], position[followed] = view.sends.value[followers], view.sends.position[followers]
    op[followed] = view.operations.op[view.sends.operation[followers]]
    return value, position, op


def send_evidence(view: LogView, rows: Ints) -> dict[str, Ints]:
    operation = view.sends.operation[rows]
    return {
        "value": view.sends.value[rows],
        "position": view.sends.position[rows],
        "op": view.operations.op[operation],
        "at_ns": view.operations.end_ns[operation],
    }


def receive_evidence(view: LogView, receives: Ints) -> dict[str, Ints]:
    """Return the columns of findings that an operation shows by what it received."""
    return {
        "value": view.intact.value[receives],
        "position": view.intact.position[receives],
        "op": view.operations.op[view.intact.operation[receives]],
        "at_ns": view.intact.received_ns[receives],
    }
