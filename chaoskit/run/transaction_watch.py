"""Records which transactions stay open, once they were seen at an earlier look, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from chaoskit.contract.power import optional
from chaoskit.contract.systems.service import Placed, Service, TransactionLooks
from chaoskit.contract.workloads.traits import Transactions
from chaoskit.history.format.origin import read_run_id
from chaoskit.history.recording.recorder import WalRecorder
from chaoskit.history.recording.wal import WalWriter
from chaoskit.model.observations.transactions import StillOpen
from chaoskit.model.place import Place
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
        self._since_ns: dict[Place, dict[int, int]] = {}

    def look(self, at_ns: int, placements: Sequence[Placed]) -> None:
        """Look once, `at_ns` after the start of the run.

        Raises:
            HistoryFull: there is no space to record it.
        """
        lasting: list[tuple[Place, StillOpen]] = []
        for place, transactions in self._looks.open_transactions(placements).items():
            before = self._since_ns.get(place, {})
            # Where nobody tells for a while, what is there afterwards was open meanwhile: positions are given once.
            self._since_ns[place] = {seen.position: before.get(seen.position, at_ns) for seen in transactions}
            lasting += [
                (place, StillOpen(seen.name, seen.position, before[seen.position]))
                for seen in transactions
                if seen.position in before
            ]
        if lasting:
            with self._recorder.operation(_LOOK) as op:
                for place, still_open in lasting:
                    self._recorder.observe(op, *place, still_open)

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
