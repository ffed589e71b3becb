"""RocketMQ's guarantees for transactional messages.

Sources: RocketMQ's documentation of transaction messages, and of release 5.5.0 `TransactionalMessageServiceImpl`,
`EndTransactionProcessor` and `MQClientAPIImpl.endTransactionOneway`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from chaoskit.base.quantities import MILLISECOND
from chaoskit.contract.guarantees.guarantee import Declared, Rule
from chaoskit.contract.guarantees.mechanism import Choice, Mechanism, Party, Retry, Way
from chaoskit.contract.workloads.traits import Transactions
from clusters.common.guarantees.cycles import CYCLES
from clusters.rocketmq.clients.settings import ANSWERED, CHECK, END, SENT, transactional_settings
from clusters.rocketmq.settings import ASKED_AGAIN_MS, ASKED_MS, NOTED_MS

"""A setting of brokers with its default, ms."""


def _tells(declared: Declared) -> bool:
    return bool(transactional_settings(declared.producer).get(END) == SENT)


def _answers(declared: Declared) -> bool:
    return bool(transactional_settings(declared.producer).get(CHECK) == ANSWERED)


def _unanswered(declared: Declared) -> Sequence[Mechanism]:
    if declared.get(Transactions) is None or _answers(declared):
        return ()
    why = (
        "check: unanswered: a broker that did not get the end of a transaction asks, and drops the message without an "
        "answer"
    )
    return (_IN_BETWEEN(why=why),) if _tells(declared) else (Choice(why=why),)


def _again(declared: Declared) -> Sequence[Mechanism]:
    if declared.get(Transactions) is None:
        return ()
    noted_ms = NOTED_MS.number_of(declared.options)
    noted = f"that a transaction has ended is written up to {noted_ms} ms after its message came to light"
    for asked in (ASKED_MS,) if _tells(declared) else (ASKED_MS, ASKED_AGAIN_MS):
        if (asked_ms := asked.number_of(declared.options)) <= noted_ms:
            why = (
                f"{noted} ({NOTED_MS.name}), and after {asked.name}={asked_ms} the broker asks, and the message is "
                "written again"
            )
            return (Choice(why=why),)
    why = f"{noted} ({NOTED_MS.name}): after a failure in between the broker asks, and the message is written again"
    return (Retry(why=why, path=_WAY, after_ns=noted_ms * MILLISECOND),)


def _late(declared: Declared) -> Sequence[Mechanism]:
    if declared.get(Transactions) is None:
        return ()
    why = (
        "the end of a transaction is sent without an answer, and a broker that did not get it asks: a message becomes "
        "visible at any time after its half was stored"
    )
    return (Choice(why=why),)


def _no_fencing(declared: Declared) -> Sequence[Mechanism]:
    if declared.get(Transactions) is None:
        return ()
    return (Choice(why="a new producer of a group fences none of the earlier ones"),)


_WAY = (Party.PRODUCER, Party.BROKERS, Party.LEADER)
_IN_BETWEEN = partial(Way, path=_WAY, in_order=False)

TRANSACTION_RULES = (
    Rule(
        "rocketmq.check-unanswered",
        ("lost",),
        _unanswered,
        "answer when the broker asks (check: answered)",
        "RocketMQ documentation, transaction messages, transaction check; broker setting transactionCheckMax",
        "rocketmq/transactions:unanswered",
        "rocketmq/transactions:checked",
    ),
    Rule(
        "rocketmq.committed-again",
        ("duplicate",),
        _again,
        "set transactionTimeOut and transactionCheckInterval to more than transactionOpBatchInterval",
        "TransactionalMessageServiceImpl.deletePrepareMessage; broker setting transactionOpBatchInterval",
        "rocketmq/transactions:impatient",
        "rocketmq/transactions:quiet",
    ),
    Rule(
        "rocketmq.committed-late",
        ("reordered", "order-violation", "sequence-jump", *CYCLES),
        _late,
        "",
        "MQClientAPIImpl.endTransactionOneway; RocketMQ documentation, transaction messages, transaction check",
        "rocketmq/transactions:checked",
        "rocketmq/quiet:master-slave",
        alone=True,
    ),
    Rule(
        "rocketmq.no-fencing",
        ("zombie-write",),
        _no_fencing,
        "",
        "RocketMQ documentation, transaction messages: any producer of the group answers for it",
        "rocketmq/transactions:zombie",
        "rocketmq/transactions:quiet",
    ),
)

TRANSACTION_PROMISES = {
    **dict.fromkeys(
        ("aborted-read", "precommitted-read"), "a half message is in a topic of its own until it is committed"
    ),
    "torn-transaction": "a transaction has one message",
    "zombie-write": "only a producer of the group ends a transaction",
}
