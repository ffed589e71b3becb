"""Which loads can be judged on compacted topics."""

from __future__ import annotations

from chaoskit.base.errors import BadInput
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.datamodel import LOG
from chaoskit.contract.workloads.traits import Backlog, Deletes, Resends, Routed, Subscription, Transactions

_NOT_YET = (Resends, Subscription, Transactions)


def check_load(declared: Declared, key: str, *, off: str, keyless: str) -> None:
    """Reject loads whose messages a compacted topic does not keep, or whose verdict would not know what compaction may
    remove.

    Args:
        declared: as it was declared; its topics are compacted.
        key: the key by which they are.
        off: what to do with it so that they are not.
        keyless: what becomes of a message without a key.

    Raises:
        BadInput: names the key and the remedy.
    """
    if declared.get(Backlog) is not None:
        raise BadInput(f"workload.backlog: what is compacted meanwhile is never read; remove it, or {key}")
    others = any(declared.get(trait) is not None for trait in _NOT_YET)
    if others or any(topic.model is not LOG for topic in declared.topics):
        raise BadInput(f"{key}: only logs (workload.kind: log) can be judged on compacted topics yet; {off}")
    routed = declared.get(Routed)
    if routed is not None and not routed.keyed:
        raise BadInput(f"{key}: {keyless}; set workload.keys")


def check_no_deletions(declared: Declared, remedy: str) -> None:
    """Reject deletions, where no topic is compacted; `remedy`: how they would be.

    Raises:
        BadInput: names the key and the remedy.
    """
    if declared.get(Deletes) is not None:
        raise BadInput(f"workload.delete_every: deletes keys of compacted topics; set {remedy}, or remove it")
