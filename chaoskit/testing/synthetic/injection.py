"""Injection of anomalies through their causes."""

from __future__ import annotations

from chaoskit.base.errors import BadInput, nearest
from chaoskit.testing.synthetic.causes import LOG_CAUSES, InjectedCause
from chaoskit.testing.synthetic.causes_group import GROUP_CAUSES
from chaoskit.testing.synthetic.causes_transactions import TRANSACTION_CAUSES, TransactionCause
from chaoskit.testing.synthetic.consumption import Consumption
from chaoskit.testing.synthetic.edits import Edits
from chaoskit.testing.synthetic.layout import Layout
from chaoskit.testing.synthetic.ledgers import LEDGER_CAUSES, LedgerCause
from chaoskit.testing.synthetic.parameters import Parameters
from chaoskit.testing.synthetic.queue_causes import QUEUE_CAUSES, QueueCause
from chaoskit.testing.synthetic.sends import SyntheticSender
from chaoskit.testing.synthetic.windows import Windows

_STREAMED: dict[str, InjectedCause] = {"stuck": GROUP_CAUSES["stuck"], **LOG_CAUSES, **GROUP_CAUSES}
CAUSES: dict[str, InjectedCause | TransactionCause | LedgerCause | QueueCause] = {
    **LOG_CAUSES,
    **GROUP_CAUSES,
    **TRANSACTION_CAUSES,
    **LEDGER_CAUSES,
    **QUEUE_CAUSES,
}


def plan_edits(layout: Layout, consumption: Consumption) -> Edits:
    """Choose where each injected anomaly occurs.

    Raises:
        BadInput: the history has no place for it.
    """
    edits = Edits()
    windows: Windows | None = None
    for name, cause in _STREAMED.items():
        for _ in range(layout.parameters.inject.get(name, 0)):
            windows = windows or Windows(SyntheticSender(layout), consumption, edits)
            cause.make(windows, name)
    return edits


def check_injections(parameters: Parameters) -> None:
    """Check that the requested causes exist in this mode.

    Raises:
        BadInput: a cause does not.
    """
    for name, count in parameters.inject.items():
        if name not in CAUSES:
            raise BadInput(f"--inject {name}: unknown cause; {nearest(name, CAUSES)}")
        modes = CAUSES[name].modes
        if parameters.mode not in modes:
            raise BadInput(f"--inject {name}: needs --mode {' or '.join(modes)}, not {parameters.mode}")
        if count < 0:
            raise BadInput(f"--inject {name}: the count {count} is negative; use 0 or more")
