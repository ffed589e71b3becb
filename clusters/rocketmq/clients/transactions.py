"""RocketMQ's transactional messages: a half message is stored out of sight, and its producer says later how it ends.

That message to the broker has no answer. A broker that did not get it asks any producer of the group, again and again,
and gives up after `transactionCheckMax` times: then the message is never seen (`TransactionalMessageServiceImpl`).
"""

from __future__ import annotations

from chaoskit.contract.clients.client import Completed
from chaoskit.model.outcome import FAIL, OK, Outcome
from clusters.common.relay.process import Jvm
from clusters.common.relay.transactional import NOT_ENDED, JavaTransactionalProducer


class RocketTransactionalProducer(JavaTransactionalProducer):
    """See `chaoskit.contract.clients.client.TransactionalProducer`. Whatever the client could not end, it rolled back.

    Args:
        jvm: the JVM of its client.
        completed: is told each completion of a message.
    """

    def __init__(self, jvm: Jvm, completed: Completed) -> None:
        super().__init__(jvm, (), completed, tells_positions=False)

    def commit(self, timeout_s: float) -> tuple[Outcome, str | None]:
        outcome, error = super().commit(timeout_s)
        rolled_back = outcome != OK and error != NOT_ENDED
        return (FAIL, error) if rolled_back else (outcome, error)
