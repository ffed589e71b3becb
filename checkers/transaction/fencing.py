"""Writes of producers that were fenced by a newer incarnation of the same name.

A client `NAME#N` is the Nth incarnation of NAME (a transactional id, a producer name). After a later one has
registered (`init`), nothing that an earlier one sends or commits may become visible.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from chaoskit.base.columns import NONE, Ints, is_one_of, words_of
from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.contract.workloads import traits
from checkers.arrays.columns import NEVER_NS, distinct
from checkers.arrays.ends import OK, TransactionEnds
from checkers.arrays.findings import findings_of, no_findings
from checkers.arrays.models import IN_LOGS
from checkers.arrays.view import LogView

ZOMBIE = ("sent after it was fenced", "its transaction ended after it was fenced")


ZOMBIE_WRITE = Anomaly(
    "zombie-write",
    "a message of a fenced producer is visible",
    IN_LOGS,
    about=About.READING,
    shared=True,
    only_with=traits.Transactions,
)


def zombie_cases(view: LogView, operations: pa.Table) -> pa.Table:
    """Find visible messages of a fenced producer.

    Evidence: `op` sent it, `other_op` is the `init` that fenced its producer; `position` and `at_ns` are the first
    receive.
    """
    fenced = _fencing(view, operations)
    if fenced is None:
        return no_findings()
    fenced_ns, by = fenced
    ending = TransactionEnds.of(operations).ending(view.sends.operation)
    ended_ns = np.where(ending == NONE, NONE, view.operations.start_ns[ending])
    at_ns = fenced_ns[view.sends.operation]
    after = view.operations.start_ns[view.sends.operation] > at_ns
    rows = np.flatnonzero((after | (ended_ns > at_ns)) & view.visible[view.sent_values])
    rows = rows[distinct(view.sent_values[rows])]
    receives = view.first_received(view.sent_values[rows])
    return findings_of(
        view.setting,
        ZOMBIE_WRITE,
        details=ZOMBIE,
        detail=np.where(after[rows], 0, 1),
        value=view.sends.value[rows],
        position=view.intact.position[receives],
        op=view.operations.op[view.sends.operation[rows]],
        other_op=view.operations.op[by[view.sends.operation[rows]]],
        at_ns=view.intact.received_ns[receives],
    )


def _fencing(view: LogView, operations: pa.Table) -> tuple[Ints, Ints] | None:
    """Return for each operation when its client was fenced (the largest time if never), and the row of the `init`
    that fenced it; None if no client was fenced."""
    registered = np.flatnonzero(is_one_of(operations["f"], ["init"]) & (view.operations.outcome == OK))
    if not registered.size:
        return None
    code, clients = words_of(operations["client"])
    fenced_ns, by = np.full(len(clients), NEVER_NS), np.full(len(clients), NONE)
    incarnations = [_incarnation(client) for client in clients]
    for row in registered[np.argsort(-view.operations.end_ns[registered], kind="stable")].tolist():
        name, later = incarnations[int(code[row])]
        earlier = [i for i, (other, number) in enumerate(incarnations) if other == name and number < later]
        fenced_ns[earlier], by[earlier] = view.operations.end_ns[row], row
    return None if (by == NONE).all() else (fenced_ns[code], by[code])


def _incarnation(client: str) -> tuple[str, int]:
    name, _, number = client.partition("#")
    return name, int(number) if number.isdecimal() else 0
