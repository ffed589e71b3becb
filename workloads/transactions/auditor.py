"""The probe of the transactions workload: one transaction with a message to every partition, which must commit."""

from __future__ import annotations

import time

from chaoskit.contract.clients.client import ProducerFenced, TransactionalClients, TransactionalProducer
from chaoskit.contract.workloads.workload import Job
from chaoskit.load.probes import Probes
from chaoskit.load.schedule import CLOSE_TIMEOUT_S
from chaoskit.model.outcome import INFO, OK
from chaoskit.model.place import Place
from workloads.transactions.options import TransactionsOptions

_REGISTER_TIMEOUT_S = 5


def probe(job: Job[TransactionsOptions]) -> tuple[bool, dict[Place, int]]:
    """Commit a transaction; return whether all was acknowledged, and the positions of its messages."""
    probes = Probes(job)
    clients = job.clients.power(TransactionalClients)
    name = job.recorder.in_system("chaoskit-probe")
    producer = clients.transactional_producer(job.options.producer, name, probes.completed)
    try:
        committed = _register(job, producer) and _commit(job, producer, probes)
    except ProducerFenced:
        committed = False
    producer.close(CLOSE_TIMEOUT_S)
    return committed and probes.accepted, probes.positions


def _register(job: Job[TransactionsOptions], producer: TransactionalProducer) -> bool:
    deadline = time.monotonic() + job.bound_ns / 1e9
    while (left_s := deadline - time.monotonic()) > 0:
        op = job.recorder.invoke("init")
        error = producer.register(min(left_s, _REGISTER_TIMEOUT_S))
        job.recorder.complete(op, OK if error is None else INFO, error)
        if error is None:
            return True
    return False


def _commit(job: Job[TransactionsOptions], producer: TransactionalProducer, probes: Probes) -> bool:
    with job.recorder.operation("begin"):
        producer.begin()
    probes.send(producer)
    op = job.recorder.invoke("end")
    outcome, error = producer.commit(job.bound_ns / 1e9)
    job.recorder.complete(op, outcome, error)
    return outcome == OK
