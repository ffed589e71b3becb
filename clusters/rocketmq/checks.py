"""Which declarations RocketMQ takes: what can be rejected before anything starts."""

from __future__ import annotations

from chaoskit.base.errors import BadInput, Problems
from chaoskit.contract.guarantees.guarantee import Declared
from chaoskit.contract.workloads.traits import Transactions
from clusters.common.java import check_java
from clusters.rocketmq import artifacts
from clusters.rocketmq.clients.queues import check_queues
from clusters.rocketmq.clients.settings import check_clients
from clusters.rocketmq.known import check_topology
from clusters.rocketmq.python.client import check_python_clients
from clusters.rocketmq.settings import RocketOptions

JAVA_MIN = 11
"""Brokers need Java 8, the options of the JVM that they are started with Java 9, the relay Java 11."""


def check(declared: Declared) -> None:
    """Reject what cannot work.

    Raises:
        BadInput: names each.
    """
    options: RocketOptions = declared.options
    artifacts.parse_version(options.version)
    problems = Problems()
    problems.tried(check_topology, options, declared.hosts)
    problems.tried(check_java, JAVA_MIN, f"RocketMQ {options.version}")
    problems.tried(check_python_clients if options.clients == "python" else check_clients, declared)
    problems.tried(check_transactions, declared)
    problems.tried(check_queues, declared)
    problems.raise_any()


def check_transactions(declared: Declared) -> None:
    """Reject transactions of several messages.

    Raises:
        BadInput: names the key.
    """
    transactions = declared.get(Transactions)
    if transactions is not None and transactions.messages != 1:
        raise BadInput(f"workload.messages: {transactions.messages}: a transaction has one message; set messages: 1")
