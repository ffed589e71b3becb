"""The checker of ledgers: logs of one writer, which anybody may end, and which then never change.

A ledger is a log, too: the log checker decides its own anomalies of it, so that an entry that is lost is `lost` as well
as `lost-entry`, and two payloads at one entry id are `offset-conflict` as well as `entry-conflict`.

What cannot be concluded: of an add whose outcome nobody knows, whether it belongs to the ledger; and of two readers,
whether the later one should have been told a later last confirmed entry. A bookie tells it with the entry that follows
it; one reader may have asked the one bookie that had that entry already, the next one a quorum without it. What one
reader has been told it may rely on, and so may everybody once the ledger has ended: it never ends below it.

Cost: O(n) time for n adds and each way that the ledger was ended, some 10 bytes a message beyond the view's.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.contract.anomaly import Anomaly
from chaoskit.contract.checker import Part
from checkers.columns import NONE, Ints, changes, running_maximum, stable_order
from checkers.copies import offset_conflict_cases
from checkers.findings import NO_ROWS, findings_of, merged, no_findings
from checkers.models import LEDGER
from checkers.standings import Standings, Told
from checkers.view import LogView

LOST_ENTRY_DETAILS = ("beyond the end of the ledger", "within the ledger, and the final read did not find it")
LAC_REGRESSION_DETAILS = ("one reader was told less than before", "the ledger ended below it")
FENCING_DETAILS = ("begun after the ledger had been ended", "acknowledged beyond the end of the ledger")


LOST_ENTRY = Anomaly(
    "lost-entry",
    "an acknowledged add is not in its ledger",
    LEDGER,
    implies=(
        "lost",
        "truncated",
        "skipped",
        "late",
        "dropped-as-duplicate",
        "readers-disagree",
        "lac-regression",
        "fencing-violation",
        "sequence-jump",
    ),
)


def lost_entry_cases(view: LogView, ended: Told) -> pa.Table:
    """Find acknowledged adds that are not in the ledger.

    A complete final read did not find them; or, without one, they lie at or beyond an end that was told. Evidence: `op`
    added it and `at_ns` is its acknowledgement; `other_position` is the lowest end that was told, by `other_op`.
    """
    audit = view.setting.bounds
    end = int(ended.position.min(initial=np.iinfo(np.int64).max))
    position = view.sends.position
    beyond = (position != NONE) & (position >= end)
    missing = ~view.kept[view.sent_values] if audit is not None and audit.complete else beyond
    rows = np.flatnonzero(view.acked & missing)
    lowest = ended.operation[np.argmin(ended.position)] if ended.position.size else NONE
    return findings_of(
        view.setting,
        LOST_ENTRY,
        details=LOST_ENTRY_DETAILS,
        detail=np.where(beyond[rows], 0, 1),
        value=view.sends.value[rows],
        position=position[rows],
        op=view.operations.op[view.sends.operation[rows]],
        other_position=np.full(rows.size, end if ended.position.size else NONE),
        other_op=np.full(rows.size, view.operations.op[lowest] if ended.position.size else NONE),
        at_ns=view.operations.end_ns[view.sends.operation[rows]],
    )


LAC_REGRESSION = Anomaly("lac-regression", "a ledger's last add confirmed went back", LEDGER)


def lac_regression_cases(view: LogView, told: Standings) -> pa.Table:
    """Find where the last confirmed entry went back.

    For one reader since it opened the ledger; or because the ledger ended below it, whoever had been told. Evidence:
    `position` is one past the entry that `op` told at `at_ns`, `other_` what had been told before, or to another
    reader. One finding for each end below.
    """
    later, earlier = _gone_back(view, told.confirmed)
    below, highest = _ended_below(view, told)
    chosen = [(told.confirmed, later, earlier), (told.ended, below, highest)]
    return findings_of(
        view.setting,
        LAC_REGRESSION,
        details=LAC_REGRESSION_DETAILS,
        detail=np.repeat([0, 1], [later.size, below.size]),
        value=np.full(later.size + below.size, NONE),
        position=np.concatenate([of.position[rows] for of, rows, _ in chosen]),
        op=np.concatenate([view.operations.op[of.operation[rows]] for of, rows, _ in chosen]),
        other_position=np.concatenate([told.confirmed.position[others] for _, _, others in chosen]),
        other_op=np.concatenate([view.operations.op[told.confirmed.operation[others]] for _, _, others in chosen]),
        at_ns=np.concatenate([view.operations.end_ns[of.operation[rows]] for of, rows, _ in chosen]),
    )


ENTRY_CONFLICT = Anomaly(
    "entry-conflict", "two messages were observed at one entry id", LEDGER, implies=("offset-conflict",)
)


FENCING_VIOLATION = Anomaly(
    "fencing-violation", "an add was acknowledged although another client had ended the ledger", LEDGER
)


def fencing_violation_cases(view: LogView, ended: Told) -> pa.Table:
    """Find adds that were acknowledged although another client had ended the ledger.

    Begun after an operation that ended it had returned; or acknowledged after such an operation had begun, at or beyond
    the end that it told. One that was acknowledged before is not fenced but lost. Evidence: `op` added it and `at_ns`
    is its acknowledgement; `other_op` is the first to have ended the ledger so, at `other_position`.
    """
    operations = view.operations
    acked = np.flatnonzero(view.acked)
    add = view.sends.operation[acked]
    proof, detail = np.full(acked.size, NONE), np.zeros(acked.size, np.int64)
    endings = ended.take(np.flatnonzero(ended.ends))
    for index in np.argsort(operations.end_ns[endings.operation], kind="stable").tolist():
        ending, end = endings.operation[index], endings.position[index]
        other = operations.process[add] != operations.process[ending]
        after = operations.start_ns[add] > operations.end_ns[ending]
        beyond = (view.sends.position[acked] >= end) & (operations.end_ns[add] > operations.start_ns[ending])
        new = (proof == NONE) & other & (after | beyond)
        proof[new], detail[new] = index, np.where(after[new], 0, 1)
    chosen = np.flatnonzero(proof != NONE)
    rows, proof = acked[chosen], proof[chosen]
    return findings_of(
        view.setting,
        FENCING_VIOLATION,
        details=FENCING_DETAILS,
        detail=detail[chosen],
        value=view.sends.value[rows],
        position=view.sends.position[rows],
        op=operations.op[view.sends.operation[rows]],
        other_position=endings.position[proof],
        other_op=operations.op[endings.operation[proof]],
        at_ns=operations.end_ns[view.sends.operation[rows]],
    )


READERS_DISAGREE = Anomaly("readers-disagree", "two clients were told different ends of one ledger", LEDGER)


def readers_disagree_cases(view: LogView, ended: Told) -> pa.Table:
    """Find ends of the ledger that differ from the one that was told first.

    One finding for each further end. Evidence: `op` told it at `at_ns`, `other_op` the first one.
    """
    if not ended.position.size:
        return no_findings()
    told = ended.take(np.argsort(view.operations.end_ns[ended.operation], kind="stable"))
    _, first = np.unique(told.position, return_index=True)
    further = np.sort(first)[1:]
    return findings_of(
        view.setting,
        READERS_DISAGREE,
        value=np.full(further.size, NONE),
        position=told.position[further],
        op=view.operations.op[told.operation[further]],
        other_position=np.repeat(told.position[:1], further.size),
        other_op=np.repeat(view.operations.op[told.operation[:1]], further.size),
        at_ns=view.operations.end_ns[told.operation[further]],
    )


def _gone_back(view: LogView, confirmed: Told) -> tuple[Ints, Ints]:
    """Return what one reader was told that is below what it was told before, and the highest before."""
    order = stable_order(view.operations.process[confirmed.operation])
    process = view.operations.process[confirmed.operation[order]]
    session: Ints = np.cumsum(changes(process) | confirmed.opens[order])
    position = confirmed.position[order]
    rank, highest = running_maximum(session, position, int(position.max(initial=0)) + 1)
    back = np.flatnonzero(rank < highest)
    return order[back], order[np.searchsorted(highest, highest[back])]


def _ended_below(view: LogView, told: Standings) -> tuple[Ints, Ints]:
    """Return the ends below what was told to be confirmed, the first of each, and the highest that was told."""
    if not (told.confirmed.position.size and told.ended.position.size):
        return NO_ROWS, NO_ROWS
    highest = int(told.confirmed.position.argmax())
    ends, first = np.unique(told.ended.position, return_index=True)
    below = first[ends < told.confirmed.position[highest]]
    return below, np.full(below.size, highest)


class LedgerChecker:
    """Decides the anomalies of one ledger; a `Checker`."""

    anomalies = (LOST_ENTRY, LAC_REGRESSION, ENTRY_CONFLICT, FENCING_VIOLATION, READERS_DISAGREE)
    models = LEDGER

    def check(self, part: Part) -> pa.Table:
        """Return the findings in the order of `anomalies`."""
        view = part.view(LogView)
        told = Standings.of(part.observations, part.operations, view.operations)
        return merged(
            [
                lost_entry_cases(view, told.ended),
                lac_regression_cases(view, told),
                offset_conflict_cases(view, ENTRY_CONFLICT),
                fencing_violation_cases(view, told.ended),
                readers_disagree_cases(view, told.ended),
            ]
        )
