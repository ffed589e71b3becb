"""What a compacted log shows for its keys: what it removed, and what came back.

Whether the latest message of a key is *lost* is decided where other losses are (`checkers.delivery.loss`), and what may
be gone in `checkers.arrays.compaction`. What cannot be concluded: without a complete final read nothing is known of
what is there.

Cost: a sort of the n messages of the log.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Flags, Ints
from chaoskit.contract.checkers.anomaly import Anomaly, Gone
from checkers.arrays.columns import changes
from checkers.arrays.compaction import Keyed
from checkers.arrays.findings import findings_of, no_findings
from checkers.arrays.models import IN_LOGS
from checkers.arrays.view import LogView
from checkers.delivery.loss import send_evidence

RESURRECTED_DETAILS = (
    "its key was deleted, and is there again",
    "it was read, and an older message of its key is back",
)


RESURRECTED = Anomaly(
    "resurrected",
    "a compacted log shows an older message of a key than one that is gone: it was read, or had deleted the key",
    IN_LOGS,
    notable=True,
)


def resurrected_cases(view: LogView) -> pa.Table:
    """Find for each key the latest message that is gone, although the final read shows an earlier one of the key: an
    acknowledged deletion, or a message that a client had received. Not a deletion that may have gone, after the earlier
    message, while the final read was on its way from one to the other.

    Evidence: `op` sent it, and `at_ns` is its acknowledgement, if any; `other_` is the message that is back, and the
    operation of the final read that received it.
    """
    keyed, audit = view.keyed, view.setting.audit
    if keyed is None or audit is None or not audit.complete:
        return no_findings()
    shown = _shown(view, keyed)
    last = np.full(int(keyed.key.max(initial=0)) + 1, NONE)
    last[keyed.key[view.intact_values[shown]]] = shown
    gone = np.flatnonzero(~view.kept & (view.visible | (keyed.deletes & (view.first_acks != NONE))) & (keyed.key > 0))
    gone = gone[last[keyed.key[gone]] != NONE]
    gone = gone[keyed.later(gone, view.intact_values[last[keyed.key[gone]]])]
    gone = gone[~_meanwhile(view, keyed, gone, last[keyed.key[gone]])]
    gone = gone[np.lexsort((keyed.start_ns[gone], keyed.place[gone], keyed.key[gone]))]
    gone = gone[np.append(changes(keyed.key[gone])[1:], True)] if gone.size else gone
    back, placed = last[keyed.key[gone]], keyed.place[gone] != NONE
    position = np.full(gone.size, NONE)
    position[placed] = view.positions.numbers(keyed.place[gone[placed]])
    return findings_of(
        view.setting,
        RESURRECTED,
        details=RESURRECTED_DETAILS,
        detail=np.where(keyed.deletes[gone], 0, 1),
        **{**send_evidence(view, view.first_sends[gone]), "position": position},
        other_value=view.intact.value[back],
        other_position=view.intact.position[back],
        other_op=view.operations.op[view.intact.operation[back]],
    )


COMPACTED = Anomaly(
    "compacted",
    "compaction removed a message for which a later one of its key stands, or a deletion whose time was over",
    IN_LOGS,
    measured=True,
    gone=Gone.REPLACED,
)


def compacted_cases(view: LogView) -> pa.Table:
    """Find what compaction removed, as it may: messages that were acknowledged, and are not in the final read.

    It is counted so that a run in which nothing was compacted does not pass for one that tried it. Evidence: `op` sent
    it and `at_ns` is its acknowledgement.
    """
    audit = view.setting.audit
    if view.keyed is None or audit is None or not audit.complete:
        return no_findings()
    rows = view.first_sends[(view.first_acks != NONE) & ~view.kept & view.removable]
    low = view.setting.bounds.low if view.setting.bounds else 0
    rows = rows[(view.sends.position[rows] >= low) | (view.sends.position[rows] == NONE)]
    return findings_of(view.setting, COMPACTED, details=(), **send_evidence(view, rows))


def _meanwhile(view: LogView, keyed: Keyed, gone: Ints, back: Ints) -> Flags:
    """Return which of these messages are deletions that may have gone between the time at which the final read received
    what is back (rows of `intact`) and the time at which it passed their place: they are kept for so long after it."""
    own = np.flatnonzero(view.operations.audits[view.receives.operation] & (view.read_positions != NONE))
    own = own[np.argsort(view.read_positions[own], kind="stable")]
    at = np.searchsorted(view.read_positions[own], keyed.place[gone], side="right")
    passed_ns = np.append(view.receives.received_ns[own], view.read_ns)[at]
    passed_ns[keyed.place[gone] == NONE] = view.read_ns
    meanwhile: Flags = passed_ns - view.intact.received_ns[back] >= keyed.compaction.retention_ns
    return keyed.deletes[gone] & meanwhile


def _shown(view: LogView, keyed: Keyed) -> Ints:
    """Return the receives of the final read (rows of `intact`) that have keys, in the order of their positions."""
    audits = view.operations.audits[view.intact.operation[view.placed]]
    rows = view.placed[audits & (keyed.key[view.intact_values[view.placed]] > 0)]
    return rows[np.argsort(view.intact_positions[rows], kind="stable")]
