"""Records where partitions are stored: regularly, and when faults begin and end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from chaoskit.base.errors import ChaoskitError
from chaoskit.base.quantities import SECOND
from chaoskit.contract.power import optional
from chaoskit.contract.systems.service import Placing, Service, ServiceError, Tiering
from chaoskit.history.compacting.placements import PlacementLog, Standing
from chaoskit.history.compacting.tiers import TierLog
from chaoskit.history.format.segment import HistoryFull
from chaoskit.model.place import Place
from chaoskit.run.transaction_watch import TransactionWatch

_EVERY_S = 1.0
_SILENT_NS = 3 * SECOND
"""A system that does not answer for longer than this is not known to have stayed as it was."""


class Survey:
    """Surveys placements in its own thread, so that no fault waits for an answer of the system.

    Args:
        service: the running system.
        folder: the run's `wal` folder.
        origin_ns: start of the run, CLOCK_MONOTONIC.
        in_history: returns the workload's name of a topic in the system.
        transactions: looks at open transactions, too; None: nobody tells of them, or there are none. Closed with the
            survey.

    Attributes:
        problems: what was not recorded, and why, as sentences.
        answered: the times during which the system answered, ns since the start of the run: first and last answer.
    """

    def __init__(
        self,
        service: Service,
        folder: Path,
        origin_ns: int,
        in_history: Callable[[str], str],
        transactions: TransactionWatch | None = None,
    ) -> None:
        self.problems: list[str] = []
        self.answered: list[list[int]] = []
        self._placing = optional(service, Placing)
        self._log = PlacementLog(folder)
        self._tiering = optional(service, Tiering)
        self._tiers = TierLog(folder.parent)
        self._transactions = transactions
        self._origin_ns = origin_ns
        self._in_history = in_history
        self._asked = threading.Event()
        self._over = False
        self._thread = threading.Thread(target=self._run, name="survey", daemon=True)

    @property
    def standings(self) -> Mapping[Place, Sequence[Standing]]:
        """Where each partition was stored so far, whenever that changed."""
        return self._log.standings

    def start(self) -> None:
        """Survey once, then regularly."""
        self._look()
        self._thread.start()

    def soon(self) -> None:
        """Survey now, without waiting for the result."""
        self._asked.set()

    def close(self) -> None:
        """Survey a last time and stop."""
        self._over = True
        self._asked.set()
        if self._thread.is_alive():
            self._thread.join()
            self._look()
        if self._transactions is not None:
            self._transactions.close()
        try:
            self._log.close()
        except HistoryFull as error:
            self.problems.append(str(error))

    def _run(self) -> None:
        while not self._over:
            self._asked.wait(_EVERY_S)
            self._asked.clear()
            self._look()

    def _note(self, at_ns: int) -> None:
        if self.answered and at_ns - self.answered[-1][1] <= _SILENT_NS:
            self.answered[-1][1] = at_ns
        else:
            self.answered.append([at_ns, at_ns])

    def _look(self) -> None:
        if self._placing is None:
            return
        at_ns = time.monotonic_ns() - self._origin_ns
        try:
            placements = self._placing.placements()
            if placements:
                self._note(at_ns)
            for placed in placements:
                in_sync = None if placed.in_sync is None else frozenset(placed.in_sync)
                standing = Standing(at_ns, placed.leader, frozenset(placed.holders), in_sync, placed.epoch)
                place = self._in_history(placed.place[0]), placed.place[1]
                self._log.record(place, standing)
            tiered = {} if self._tiering is None else self._tiering.tiered(placements)
            self._tiers.record(at_ns, {(self._in_history(name), number): end for (name, number), end in tiered.items()})
        except ServiceError:
            return  # nobody answers: what was known before stays the last known placement
        except Exception as error:  # noqa: BLE001  # a survey that fails must not cost the run its faults
            self._missed("placements", error)
            return
        if self._transactions is not None:
            try:
                self._transactions.look(placements)
            except Exception as error:  # noqa: BLE001  # as above
                self._missed("open transactions", error)

    def _missed(self, what: str, error: Exception) -> None:
        words = str(error) if isinstance(error, ChaoskitError) else f"bug: {error!r}"
        if not any(problem.startswith(what) for problem in self.problems):
            self.problems.append(f"{what} were not recorded: {words}")
