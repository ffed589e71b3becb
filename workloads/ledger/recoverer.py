"""The recoverer of the ledger workload: closes ledgers while they are being written."""

from __future__ import annotations

import random
import time

from chaoskit.contract.clients.ledger import LedgerClients, LedgerError
from chaoskit.contract.workloads.workload import Job
from workloads.ledger.options import LedgerOptions
from workloads.ledger.recording import stands

RECOVERER = "recoverer"

_IDLE_S = 0.05


def recover(job: Job[LedgerOptions]) -> None:
    """Open a ledger with recovery at the configured interval until stopped."""
    options = job.options
    assert options.recover_every is not None
    recorder = job.recorder
    client = job.clients.power(LedgerClients).ledger_client(options.consumer)
    source = random.Random(recorder.run_id)  # noqa: S311  # which ledger: no secret
    due_ns = job.control.wait_start() + options.recover_every
    while not job.control.stopping:
        if time.monotonic_ns() < due_ns:
            time.sleep(_IDLE_S)
            continue
        due_ns += options.recover_every
        try:
            ledgers = client.open_for_writing()
            if ledgers:
                ledger = source.choice(ledgers)
                with recorder.operation("recover") as op:
                    reader = client.open(ledger, recover=True)
                    end, ended = reader.confirmed()
                    stands(recorder, op, ledger, end, ended=ended)
                reader.close()
        except LedgerError:
            continue  # recorded, or nothing was done; the next attempt may succeed
    client.close()
