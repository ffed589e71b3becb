"""Records which transactions stay open, once they were seen at an earlier look, too."""

from __future__ import annotations

import time
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
        origin_ns: start of the run, CLOCK_MONOTONIC.
        run_id: identifies the run.
        namespace: how names in the system begin.
    """

    def __init__(  # noqa: PLR0917 - what a recorder needs
        self, looks: TransactionLooks, wal: Path, process: int, origin_ns: int, run_id: int, namespace: str
    ) -> None:
        self._looks = looks
        self._wal = WalWriter(wal, _CLIENT, process)
        self._recorder = WalRecorder(self._wal, run_id, namespace)
        self._origin_ns = origin_ns
        self._since_ns: dict[Place, dict[tuple[int, int], int]] = {}

    def look(self, placements: Sequence[Placed]) -> None:
        """Look once. What is seen first was open when the answers had come; what is seen again, when they were asked
        for.

        Raises:
            HistoryFull: there is no space to record it.
        """
        asked_ns, lasting = time.monotonic_ns(), list[tuple[Place, StillOpen]]()
        answers = self._looks.open_transactions(placements)
        answered_ns = time.monotonic_ns() - self._origin_ns
        for place, transactions in answers.items():
            before, now = self._since_ns.get(place, {}), dict[tuple[int, int], int]()
            for seen in transactions:
                # Where nobody tells for a while, what is there afterwards was open meanwhile: no producer begins twice
                # at one position.
                key = seen.position, seen.producer
                now[key] = before.get(key, answered_ns)
                if key in before:
                    lasting.append((place, StillOpen(seen.name, seen.position, before[key])))
            self._since_ns[place] = now
        if lasting:
            op = self._recorder.invoke(_LOOK, asked_ns)
            for place, still_open in lasting:
                self._recorder.observe(op, *place, still_open)
            self._recorder.complete(op)

    def close(self) -> None:
        """Close its log."""
        self._wal.close()


def watch_of(  # noqa: PLR0917 - what a recorder needs
    plan: Plan, service: Service, wal: Path, origin_ns: int, namespace: str, number: Callable[[], int]
) -> TransactionWatch | None:
    """Return what looks at the transactions of a trial; None if there are none, or the system does not tell.

    Args:
        plan: the plan.
        service: the running system.
        wal: the run's `wal` folder.
        origin_ns: start of the run, CLOCK_MONOTONIC.
        namespace: how names in the system begin.
        number: returns the next process number of the history.
    """
    looks = optional(service, TransactionLooks)
    if looks is None or (plan.application is None and plan.declared.get(Transactions) is None):
        return None
    return TransactionWatch(looks, wal, number(), origin_ns, read_run_id(wal), namespace)
