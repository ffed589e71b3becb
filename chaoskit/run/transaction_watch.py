"""Records which transactions stay open, once they were seen at an earlier look, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from chaoskit.contract.power import optional
from chaoskit.contract.systems.service import OpenTransaction, Placed, Service, TransactionLooks
from chaoskit.contract.workloads.traits import Transactions
from chaoskit.history.format.origin import read_run_id
from chaoskit.history.recording.recorder import WalRecorder
from chaoskit.history.recording.wal import WalWriter
from chaoskit.model.observations.transactions import StillOpen
from chaoskit.scenario.plan import Plan

_CLIENT, _LOOK = "survey-0", "look"


class TransactionWatch:
    """Looks at transactions; not thread-safe.

    Args:
        looks: tells which are open.
        wal: the run's `wal` folder.
        process: the number of its process in the history.
        run_id: identifies the run.
        namespace: how names in the system begin.
    """

    def __init__(self, looks: TransactionLooks, wal: Path, process: int, run_id: int, namespace: str) -> None:
        self._looks = looks
        self._wal = WalWriter(wal, _CLIENT, process)
        self._recorder = WalRecorder(self._wal, run_id, namespace)
        self._since_ns: dict[OpenTransaction, int] = {}

    def look(self, at_ns: int, placements: Sequence[Placed]) -> None:
        """Look once, `at_ns` after the start of the run.

        Raises:
            HistoryFull: there is no space to record it.
        """
        before = self._since_ns
        now_open = self._looks.open_transactions(placements)
        self._since_ns = {seen: before.get(seen, at_ns) for seen in now_open}
        lasting = [(seen, since_ns) for seen, since_ns in self._since_ns.items() if seen in before]
        if lasting:
            with self._recorder.operation(_LOOK) as op:
                for seen, since_ns in lasting:
                    self._recorder.observe(op, *seen.place, StillOpen(seen.name, seen.position, since_ns))

    def close(self) -> None:
        """Close its log."""
        self._wal.close()


def watch_of(
    plan: Plan, service: Service, wal: Path, namespace: str, number: Callable[[], int]
) -> TransactionWatch | None:
    """Return what looks at the transactions of a trial; None if there are none, or the system does not tell.

    Args:
        plan: the plan.
        service: the running system.
        wal: the run's `wal` folder.
        namespace: how names in the system begin.
        number: returns the next process number of the history.
    """
    looks = optional(service, TransactionLooks)
    if looks is None or (plan.application is None and plan.declared.get(Transactions) is None):
        return None
    return TransactionWatch(looks, wal, number(), read_run_id(wal), namespace)
