"""Runs every installed checker over a history, partition by partition, and joins what they find.

The steps are functions of their own, so that Spark runs the same ones elsewhere:
`check_partition` for each partition, then `settle_and_conclude` over all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base import plugins
from chaoskit.base.errors import BadInput
from chaoskit.base.memory import keep_freed_memory
from chaoskit.contract.checker import FINDINGS, Checker, Context, FaultWindow, Settling, Spanning
from chaoskit.contract.workload import AUDITOR
from chaoskit.history.reader import History
from chaoskit.history.schema import CARRYING


@dataclass(frozen=True, slots=True)
class Checked:
    """What one checker found in one partition; `extract` is None where the checker spans nothing."""

    findings: pa.Table
    extract: pa.Table | None


Sent = Callable[[Settling, pa.Array], list[pa.Table]]
"""Asks a checker's `sent_here` of every partition."""


def checkers() -> list[Checker]:
    """Return all installed checkers, by name."""
    return [plugins.load("checker", name, "checker") for name in plugins.names("checker")]


def contexts(history: History, bound_ns: int) -> list[Context]:
    """Return the context of each partition of a history, in the history's order.

    Args:
        history: of the run.
        bound_ns: within what time of a healing the system must serve again.
    """
    faults = tuple(
        FaultWindow(row["fault"], row["kind"], row["start_ns"], row["effective_ns"], row["healed_ns"])
        for row in history.faults.to_pylist()
    )
    return [
        Context(each.topic, each.partition, history.audit(each.topic, each.partition), AUDITOR, faults, bound_ns)
        for each in history.partitions
    ]


def find(history: History, bound_ns: int) -> pa.Table:
    """Return the findings of all checkers over all partitions (schema `FINDINGS`)."""
    keep_freed_memory()
    operations = history.operations
    control = controlling(operations)
    checked = []
    for context in contexts(history, bound_ns):
        messages = history.messages(context.topic, context.partition)
        checked.append(check_partition(messages, relevant(messages, operations, control), context))

    def sent(checker: Settling, values: pa.Array) -> list[pa.Table]:
        return [checker.sent_here(history.messages(each.topic, each.partition), values) for each in history.partitions]

    return settle_and_conclude(checked, sent, lambda: operations)


def controlling(operations: pa.Table) -> np.ndarray:
    """Return for each operation whether it controls a client, and does not carry messages."""
    carrying = pc.is_in(operations["f"].cast(pa.string()), value_set=pa.array(CARRYING))
    return np.asarray(pc.invert(carrying))


def relevant(messages: pa.Table, operations: pa.Table, control: np.ndarray) -> pa.Table:
    """Return the operations that a partition's messages name, and all that control clients.

    Raises:
        BadInput: an operation is missing.
    """
    named = messages["op"].to_numpy()
    if named.max(initial=-1) >= control.size:
        raise BadInput(f"the history has messages of operation {named.max()}, but only {control.size} operations")
    chosen = control.copy()
    chosen[named] = True
    return operations if 2 * np.count_nonzero(chosen) > chosen.size else operations.filter(pa.array(chosen))


def check_partition(messages: pa.Table, operations: pa.Table, context: Context) -> list[Checked]:
    """Return what each checker, in their order, finds in one partition; arguments as of `Checker.check`."""
    return [
        Checked(
            checker.check(messages, operations, context),
            checker.extract(messages, operations, context) if isinstance(checker, Spanning) else None,
        )
        for checker in checkers()
    ]


def settle_and_conclude(
    checked: Sequence[Sequence[Checked]], sent: Sent, operations: Callable[[], pa.Table]
) -> pa.Table:
    """Return all findings, given those of each partition.

    Args:
        checked: of each partition, what each checker found.
        sent: asks all partitions who sent some values.
        operations: gives all operations of the run; called only when a checker needs them.
    """
    tables = [FINDINGS.empty_table()]
    for index, checker in enumerate(checkers()):
        findings = pa.concat_tables([FINDINGS.empty_table(), *(each[index].findings for each in checked)])
        if isinstance(checker, Settling) and len(values := checker.open_values(findings)):
            findings = checker.settle(findings, pa.concat_tables(sent(checker, values)))
        tables.append(findings)
        extracts = [extract for each in checked if (extract := each[index].extract) is not None and extract.num_rows]
        if isinstance(checker, Spanning) and extracts:
            tables.append(checker.conclude(pa.concat_tables(extracts), operations()))
    return pa.concat_tables(tables).unify_dictionaries().combine_chunks()
