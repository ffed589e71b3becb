"""The checker of ledgers: single-writer logs that any client may close, and that never change afterwards.

A ledger is also a log: the log checker detects its own anomalies in it, so a lost entry is both `lost` and
`lost-entry`, and two payloads at one entry id are both `offset-conflict` and `entry-conflict`.

What cannot be concluded: whether an add with unknown outcome belongs to the ledger; and, for two readers, whether the
later one should have seen a higher last confirmed entry. A node reports it with the entry that follows it; one reader
may have asked the only node that already had that entry, the next one a quorum without it. A reader may rely on what
was reported to it, and so may everyone once the ledger is closed: it is never closed below that.

Cost: O(n) time for n adds and each end reported for the ledger, about 10 bytes per message beyond the view's.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints
from chaoskit.contract.checkers.anomaly import About, Anomaly, Gone
from chaoskit.contract.checkers.checker import Part
from checkers.arrays.columns import changes, running_maximum, stable_order
from checkers.arrays.findings import NO_ROWS, findings_of, merged, no_findings
from checkers.arrays.models import LEDGERS
from checkers.arrays.view import LogView
from checkers.delivery.copies import offset_conflict_cases
from checkers.ledger.standings import ReportedEnds, Standings

LOST_ENTRY_DETAILS = (
    "beyond the end of the ledger",
    "within the ledger, and the final read did not find it",
    "within the ledger, and the system cannot read it",
)
LAC_REGRESSION_DETAILS = ("lower than before for the same reader", "the ledger was closed below it")
FENCING_DETAILS = ("started after the ledger was closed", "acknowledged beyond the end of the ledger")


LOST_ENTRY = Anomaly(
    "lost-entry",
    "an acknowledged add is not in its ledger",
    LEDGERS,
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
    gone=Gone.LOST,
)


def lost_entry_cases(view: LogView, ended: ReportedEnds) -> pa.Table:
    """Find acknowledged adds that are not in the ledger.

    A complete final read did not find them; or, without one, they are at or beyond a reported end. Evidence: `op` added
    it and `at_ns` is its acknowledgement; `other_position` is the lowest reported end, from `other_op`.
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
        detail=np.where(beyond[rows], 0, np.where(view.unreadable(position[rows]), 2, 1)),
        value=view.sends.value[rows],
        position=position[rows],
        op=view.operations.op[view.sends.operation[rows]],
        other_position=np.full(rows.size, end if ended.position.size else NONE),
        other_op=np.full(rows.size, view.operations.op[lowest] if ended.position.size else NONE),
        at_ns=view.operations.end_ns[view.sends.operation[rows]],
    )


LAC_REGRESSION = Anomaly("lac-regression", "a ledger's last add confirmed went back", LEDGERS, about=About.READING)


def lac_regression_cases(view: LogView, standings: Standings) -> pa.Table:
    """Find where the last confirmed entry went back.

    Either for one reader since it opened the ledger, or because the ledger was closed below what was reported to any
    reader. Evidence: `position` is one past the entry that `op` reported at `at_ns`; `other_` is what was reported
    before, or to another reader. One finding per end below.
    """
    later, earlier = _gone_back(view, standings.confirmed)
    below, highest = _ended_below(view, standings)
    chosen = [(standings.confirmed, later, earlier), (standings.ended, below, highest)]
    return findings_of(
        view.setting,
        LAC_REGRESSION,
        details=LAC_REGRESSION_DETAILS,
        detail=np.repeat([0, 1], [later.size, below.size]),
        value=np.full(later.size + below.size, NONE),
        position=np.concatenate([of.position[rows] for of, rows, _ in chosen]),
        op=np.concatenate([view.operations.op[of.operation[rows]] for of, rows, _ in chosen]),
        other_position=np.concatenate([standings.confirmed.position[others] for _, _, others in chosen]),
        other_op=np.concatenate([view.operations.op[standings.confirmed.operation[others]] for _, _, others in chosen]),
        at_ns=np.concatenate([view.operations.end_ns[of.operation[rows]] for of, rows, _ in chosen]),
    )


ENTRY_CONFLICT = Anomaly(
    "entry-conflict",
    "two messages were observed at the same entry id",
    LEDGERS,
    implies=("offset-conflict",),
    about=About.PAIR,
)


FENCING_VIOLATION = Anomaly(
    "fencing-violation",
    "an add was acknowledged although another client had closed the ledger",
    LEDGERS,
    about=About.READING,
)


def fencing_violation_cases(view: LogView, ended: ReportedEnds) -> pa.Table:
    """Find adds that were acknowledged although another client had closed the ledger.

    Either started after an operation that closed it had returned; or acknowledged after such an operation had started,
    at or beyond the end that it reported. An add that was acknowledged before is lost, not fenced. Evidence: `op` added
    it and `at_ns` is its acknowledgement; `other_op` is the first such operation, which closed it at `other_position`
    at `since_ns`.
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
        since_ns=operations.end_ns[endings.operation[proof]],
    )


READERS_DISAGREE = Anomaly(
    "readers-disagree", "two clients saw different ends of the same ledger", LEDGERS, about=About.READING
)


def readers_disagree_cases(view: LogView, ended: ReportedEnds) -> pa.Table:
    """Find reported ends of the ledger that differ from the first one.

    One finding per additional end. Evidence: `op` reported it at `at_ns`, `other_op` reported the first one.
    """
    if not ended.position.size:
        return no_findings()
    reports = ended.take(np.argsort(view.operations.end_ns[ended.operation], kind="stable"))
    _, first = np.unique(reports.position, return_index=True)
    further = np.sort(first)[1:]
    return findings_of(
        view.setting,
        READERS_DISAGREE,
        value=np.full(further.size, NONE),
        position=reports.position[further],
        op=view.operations.op[reports.operation[further]],
        other_position=np.repeat(reports.position[:1], further.size),
        other_op=np.repeat(view.operations.op[reports.operation[:1]], further.size),
        at_ns=view.operations.end_ns[reports.operation[further]],
    )


def _gone_back(view: LogView, confirmed: ReportedEnds) -> tuple[Ints, Ints]:
    """Return positions reported to a reader that are lower than earlier ones, and the highest earlier one for each."""
    order = stable_order(view.operations.process[confirmed.operation])
    process = view.operations.process[confirmed.operation[order]]
    session: Ints = np.cumsum(changes(process) | confirmed.opens[order])
    position = confirmed.position[order]
    rank, highest = running_maximum(session, position, int(position.max(initial=0)) + 1)
    back = np.flatnonzero(rank < highest)
    return order[back], order[np.searchsorted(highest, highest[back])]


def _ended_below(view: LogView, standings: Standings) -> tuple[Ints, Ints]:
    """Return the ends below a reported confirmed position, the first of each, and the highest reported position."""
    if not (standings.confirmed.position.size and standings.ended.position.size):
        return NO_ROWS, NO_ROWS
    highest = int(standings.confirmed.position.argmax())
    ends, first = np.unique(standings.ended.position, return_index=True)
    below = first[ends < standings.confirmed.position[highest]]
    return below, np.full(below.size, highest)


class LedgerChecker:
    """Detects the anomalies of one ledger; a `Checker`."""

    anomalies = (LOST_ENTRY, LAC_REGRESSION, ENTRY_CONFLICT, FENCING_VIOLATION, READERS_DISAGREE)
    models = LEDGERS

    def check(self, part: Part) -> pa.Table:
        """Return the findings in the order of `anomalies`."""
        view = part.view(LogView)
        standings = Standings.of(part.observations, part.operations, view.operations)
        return merged(
            [
                lost_entry_cases(view, standings.ended),
                lac_regression_cases(view, standings),
                offset_conflict_cases(view, ENTRY_CONFLICT),
                fencing_violation_cases(view, standings.ended),
                readers_disagree_cases(view, standings.ended),
            ]
        )
