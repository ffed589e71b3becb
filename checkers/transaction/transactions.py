"""The checker of transactions: atomicity within and across partitions, and isolation.

Applies if an operation belongs to a transaction, or a client registers under a persistent name; other histories
cost nothing. A transaction has committed if its `end` was acknowledged, and aborted if that failed or none was
invoked (`checkers.arrays.ends`).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.base.columns import NONE, Flags, Ints, integers, is_one_of
from chaoskit.contract.checkers.anomaly import About, Anomaly
from chaoskit.contract.checkers.checker import FINDINGS, Part
from chaoskit.contract.workloads import traits
from checkers.arrays.columns import distinct, marked
from checkers.arrays.ends import ABORTED, OK, TransactionEnds
from checkers.arrays.findings import findings_of, merged, no_findings
from checkers.arrays.models import IN_LOGS
from checkers.arrays.view import LogView
from checkers.transaction.cycles import CYCLES, Graph, cycles, with_orders
from checkers.transaction.edges import EDGES, KINDS, RW, WR, WW, edges_of, sorted_edges
from checkers.transaction.fencing import ZOMBIE_WRITE, zombie_cases

TORN = ("committed", "commit outcome unknown")

_PRESENT, _ABSENT = len(KINDS), len(KINDS) + 1
"""Additional kinds of rows in an extract: the send `target` of transaction `source` (`other_position` is its
value) is visible, or provably missing."""


def concerns(operations: pa.Table) -> bool:
    """Return whether a history has transactions, or clients with a persistent name."""
    return operations["txn"].null_count < operations.num_rows or bool(is_one_of(operations["f"], ["init"]).any())


ABORTED_READ = Anomaly(
    "aborted-read",
    "a message of a transaction that did not commit was received",
    IN_LOGS,
    about=About.READING,
    shared=True,
    notable=True,
    only_with=traits.Transactions,
)


def aborted_read_cases(view: LogView) -> pa.Table:
    """Find received messages of transactions that did not commit.

    Jepsen: G1a. Evidence: `op` sent it; `position`, `other_op` and `at_ns` are its first receive.
    """
    receives, writer = _written(view)
    receives = receives[view.operations.fate[writer] == ABORTED]
    receives = receives[distinct(view.intact_values[receives])]
    return _received(view, ABORTED_READ, receives)


PRECOMMITTED_READ = Anomaly(
    "precommitted-read",
    "a message was received before its transaction ended",
    IN_LOGS,
    about=About.READING,
    shared=True,
    only_with=traits.Transactions,
)


def precommitted_read_cases(view: LogView, operations: pa.Table) -> pa.Table:
    """Find messages that were received before the end of their transaction was invoked, or by the transaction itself.

    Jepsen: precommitted-read. Evidence: `op` sent it; `position`, `other_op` and `at_ns` are that receive.
    """
    candidate, writer = _written(view)
    ending = TransactionEnds.of(operations).ending(writer)
    candidate, writer, ending = (array[ending != NONE] for array in (candidate, writer, ending))
    received_ns = view.intact.received_ns[candidate]
    early = (received_ns != NONE) & (received_ns < view.operations.start_ns[ending])
    early |= view.intact.operation[candidate] == writer
    early &= view.operations.fate[writer] != ABORTED
    receives = candidate[early]
    return _received(view, PRECOMMITTED_READ, receives[distinct(view.intact_values[receives])])


def _written(view: LogView) -> tuple[Ints, Ints]:
    """Return the intact receives of messages that were sent here, and the operations that sent them."""
    send = view.first_sends[view.intact_values]
    receives = np.flatnonzero(send != NONE)
    return receives, view.sends.operation[send[receives]]


def _received(view: LogView, anomaly: Anomaly, receives: Ints) -> pa.Table:
    send = view.first_sends[view.intact_values[receives]]
    return findings_of(
        view.setting,
        anomaly,
        value=view.intact.value[receives],
        position=view.intact.position[receives],
        op=view.operations.op[view.sends.operation[send]],
        other_op=view.operations.op[view.intact.operation[receives]],
        at_ns=view.intact.received_ns[receives],
    )


def _presence(view: LogView, operations: pa.Table) -> pa.Table:
    """Return one visible and one missing send of each transaction that may have committed."""
    txn = integers(operations["txn"])
    sends, audit = view.sends, view.setting.bounds
    member = (txn[sends.operation] != NONE) & (view.operations.fate[sends.operation] != ABORTED)
    rows = np.flatnonzero(member & (view.operations.outcome[sends.operation] == OK))
    position, present = sends.position[rows], view.kept[view.sent_values[rows]]
    highest = view.receives.position.max(initial=NONE)
    past = (position != NONE) & (position <= highest) & (position >= (audit.low if audit else 0))
    absent = ~present & (past | np.full(rows.size, audit is not None and audit.complete and not audit.low))
    parts = []
    for kind, chosen in ((_PRESENT, present), (_ABSENT, absent)):
        some = rows[chosen]
        some = some[distinct(txn[sends.operation[some]])]
        columns = {
            "kind": pa.array(np.full(some.size, kind), pa.int8()),
            "source": pa.array(txn[sends.operation[some]]),
            "target": pa.array(view.operations.op[sends.operation[some]]),
            "topic": pa.array([view.setting.topic] * some.size, EDGES.field("topic").type),
            "partition": pa.array(np.full(some.size, view.setting.partition, np.int32)),
            "position": pa.array(sends.position[some].astype(np.int64)),
            "other_position": pa.array(sends.value[some].astype(np.int64)),
        }
        parts.append(pa.table(columns, schema=EDGES))
    return pa.concat_tables(parts)


TORN_TRANSACTION = Anomaly(
    "torn-transaction",
    "one part of a committed transaction is visible, another part is missing",
    IN_LOGS,
    shared=True,
    only_with=traits.Transactions,
)


def _torn(extracts: pa.Table, kind: Ints, operations: pa.Table) -> pa.Table:
    """Find transactions with a permanently visible part and a missing part.

    Evidence: `value`, `position` and `op` are a missing send, `other_` is a visible one; `at_ns` is when the
    transaction ended.
    """
    present, absent = (extracts.filter(pa.array(kind == part)) for part in (_PRESENT, _ABSENT))
    present, absent = (table.take(distinct(integers(table["source"]))) for table in (present, absent))
    beside = pc.index_in(absent["source"], value_set=present["source"].combine_chunks())
    torn = pc.is_valid(beside)
    absent, present = absent.filter(torn), present.take(beside.filter(torn))
    transactions = TransactionEnds.of(operations)
    number = np.searchsorted(transactions.name, integers(absent["source"]))
    columns = {
        "anomaly": pa.array([TORN_TRANSACTION.name] * absent.num_rows),
        "topic": absent["topic"],
        "partition": absent["partition"],
        "value": absent["other_position"],
        "position": _known(absent["position"]),
        "op": absent["target"],
        "other_value": present["other_position"],
        "other_position": _known(present["position"]),
        "other_op": present["target"],
        "at_ns": operations["end_ns"].take(pa.array(transactions.end[number])),
        "detail": pa.array(TORN).take(pa.array(np.where(transactions.fate[number] == OK, 0, 1))),
    }
    nothing = pa.nulls(absent.num_rows)
    return pa.table({name: _cast(columns.get(name, nothing), name) for name in FINDINGS.names}, FINDINGS)


def _known(positions: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.if_else(pc.equal(positions, NONE), None, positions)


def _cast(column: pa.Array | pa.ChunkedArray, name: str) -> pa.Array | pa.ChunkedArray:
    wanted = FINDINGS.field(name).type
    if pa.types.is_dictionary(wanted) and pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    return column.cast(wanted)


def _cycles(edges: pa.Table, operations: pa.Table) -> pa.Table:
    """Find cycles of dependencies: one finding per component and class.

    Evidence: `op` and `other_op` begin two consecutive transactions of the cycle, `position` is what the first of
    them wrote or read, `at_ns` is when the last one of the cycle began; `detail` has the complete cycle.
    """
    ends = np.concatenate([integers(edges["source"]), integers(edges["target"])])
    name, number = np.unique(ends, return_inverse=True)
    data = Graph(name.size, 0, integers(edges["kind"]), number[: edges.num_rows], number[edges.num_rows :])
    row, start_ns, end_ns = _spans(name, operations)
    graph = with_orders(data, integers(operations["process"])[row], start_ns, end_ns)
    transactional = marked(name.size, np.flatnonzero(integers(operations["txn"])[row] == name))
    rows = []
    for anomaly, loop in cycles(graph):
        first = next(index for index, edge in enumerate(loop) if graph.kind[edge] <= RW)
        cycle = loop[first:] + loop[:first]
        evidence = edges.slice(cycle[0], 1).to_pylist()[0]
        nodes = graph.source[cycle][graph.source[cycle] < graph.nodes]
        rows.append(
            {
                "anomaly": anomaly,
                "topic": evidence["topic"],
                "partition": evidence["partition"],
                "position": evidence["position"],
                "op": int(name[graph.source[cycle[0]]]),
                "other_op": int(name[graph.target[cycle[0]]]),
                "at_ns": int(start_ns[nodes].max()),
                "detail": _explain(graph, cycle, name, transactional, edges),
            }
        )
    return pa.Table.from_pylist(rows, FINDINGS)


def _spans(name: Ints, operations: pa.Table) -> tuple[Ints, Ints, Ints]:
    """Return for each node the row of its first operation, its start, and its end if it definitely took effect."""
    row = np.searchsorted(integers(operations["op"]), name)
    transactions = TransactionEnds.of(operations)
    last = np.where(transactions.of_operation[row] == NONE, row, transactions.ending(row))
    certain = is_one_of(operations["outcome"], ["ok"])[last] & (last != NONE)
    return row, integers(operations["start_ns"])[row], np.where(certain, integers(operations["end_ns"])[last], NONE)


def _explain(graph: Graph, cycle: list[int], name: Ints, transactional: Flags, edges: pa.Table) -> str:
    """Return a cycle as text: `T7 -ww log-0/0 3 then 4-> T9 -realtime-> T7`."""
    words = []
    for edge in cycle:
        node, kind = int(graph.source[edge]), int(graph.kind[edge])
        if node >= graph.nodes:
            continue
        words.append(f"T{name[node]}" if transactional[node] else f"op {name[node]}")
        if kind > RW:
            words.append(f"-{KINDS[kind]}->")
            continue
        row = edges.slice(edge, 1).to_pylist()[0]
        said = {
            WW: f"{row['position']} then {row['other_position']}",
            WR: f"{row['position']}",
            RW: f"{row['position']}, missed {row['other_position']}",
        }
        words.append(f"-{KINDS[kind]} {row['topic']}/{row['partition']} {said[kind]}->")
    return " ".join([*words, words[0]])


class TransactionChecker:
    """Detects the anomalies of transactions; a `Checker` with the power `Spanning`."""

    anomalies = (ABORTED_READ, PRECOMMITTED_READ, TORN_TRANSACTION, ZOMBIE_WRITE, *CYCLES.values())
    models = IN_LOGS

    def check(self, part: Part) -> pa.Table:
        """Return the findings that need only one partition: aborted-read, precommitted-read, zombie-write."""
        operations = part.operations
        if not (part.messages.num_rows and concerns(operations)):
            return no_findings()
        view = part.view(LogView)
        return merged(
            [aborted_read_cases(view), precommitted_read_cases(view, operations), zombie_cases(view, operations)]
        )

    def extract(self, part: Part) -> pa.Table:
        """Return the dependencies in the partition, and which transactions are visible in it and which are not."""
        operations = part.operations
        if not part.messages.num_rows or operations["txn"].null_count == operations.num_rows:
            return EDGES.empty_table()
        view = part.view(LogView)
        return pa.concat_tables([edges_of(view, operations), _presence(view, operations)])

    def conclude(self, extracts: pa.Table, operations: pa.Table) -> pa.Table:
        """Return torn transactions and cycles."""
        extracts = sorted_edges(extracts)
        kind = integers(extracts["kind"])
        dependencies = extracts.filter(pa.array(kind <= RW))
        return pa.concat_tables([_torn(extracts, kind, operations), _cycles(dependencies, operations)])
