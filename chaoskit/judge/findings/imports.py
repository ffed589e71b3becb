"""What an imported history may show: what Jepsen's checker of its Kafka workload always allows.

Jepsen has it in jepsen/src/jepsen/tests/kafka.clj, `allowed-error-types` (jepsen-io/jepsen, commit c4c7473d): writes
of transactions are never isolated, so that they interleave (`int-send-skip`) and depend on each other in cycles (`G0`);
a consumer that subscribes may be rebalanced between two transactions, and go on anywhere (`poll-skip`,
`nonmonotonic-poll`). Within one transaction, and with keys that are assigned, it must read in order. What is not known
of a history: whether its test built cycles of writes into `G1c` (`:ww-deps`), which Jepsen would allow then.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from chaoskit.contract.guarantees.guarantee import Allowance
from chaoskit.history.reading.reader import History, group_sizes, read_operations

JEPSEN = "jepsen"
"""`from` in the scenario.yaml of an imported history."""

_WRITES = "Jepsen always allows it: writes of transactions are not isolated from each other"
_REBALANCED = "Jepsen always allows it with subscribe: a consumer may be rebalanced between two transactions"

_ORDERS = ("", "-process", "-realtime")
_ISOLATION = tuple(f"G0{order}" for order in _ORDERS)
_SPLIT = {"order-violation": ("one operation's positions skip over another's",)}
"""Anomalies, and the details with which they are allowed."""

_MOVES = dict.fromkeys(("skipped", "rewound", "redelivered"), ("between polls",))
_FOLLOWING = ("sequence-jump", "late", *(f"{base}{order}" for base in ("G-single", "G2") for order in _ORDERS))
"""What a reader sees of producers whose messages it passed, or went back to; and cycles over what it passed, which
Jepsen does not build: its graph has no edges of reads that missed a write."""


def allowed_of_jepsen(findings: pa.Table, history: History) -> dict[str, Allowance]:
    """Return what Jepsen allows of the findings of a history that was imported from it.

    An anomaly is allowed only if each of its findings is.

    Args:
        findings: the findings of the history.
        history: the history; its operations are read group by group, and only if consumers moved.
    """
    return dict(_allowed(findings, history))


def _allowed(findings: pa.Table, history: History) -> Iterator[tuple[str, Allowance]]:
    for name in _ISOLATION:
        yield name, Allowance(True, _WRITES)
    for name, details in _SPLIT.items():
        if _only(findings, name, details):
            yield name, Allowance(True, _WRITES)
    moved = [name for name, details in _MOVES.items() if _only(findings, name, details)]
    if not moved or not _subscribes(history):
        return
    for name in moved:
        yield name, Allowance(True, _REBALANCED)
    known = set(findings["anomaly"].cast(pa.string()).unique().to_pylist())
    if not (known & _MOVES.keys()) - set(moved):
        yield from ((name, Allowance(True, _REBALANCED)) for name in _FOLLOWING)


def _subscribes(history: History) -> bool:
    """Return whether any consumer subscribed, instead of being assigned its keys."""
    path = history.folder / "operations.parquet"
    groups = (read_operations(path, [group], ["f"])["f"] for group in range(len(group_sizes(path))))
    return any(pc.any(pc.equal(f.cast(pa.string()), "subscribe")).as_py() for f in groups)


def _only(findings: pa.Table, name: str, details: tuple[str, ...]) -> bool:
    """Return whether there are findings of an anomaly, and all have one of these details."""
    own = findings.filter(pc.equal(findings["anomaly"].cast(pa.string()), name))
    shown = set(own["detail"].cast(pa.string()).unique().to_pylist())
    return bool(shown) and shown <= set(details)
