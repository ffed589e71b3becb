"""The faults of a run, as input for guarantees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chaoskit.base.quantities import HOUR, SECOND
from chaoskit.contract.guarantees.act import Act, Damage
from chaoskit.contract.guarantees.guarantee import Effect
from chaoskit.contract.installed import nemesis
from chaoskit.contract.mistakes import validated
from chaoskit.history.format.fault import Fault

_FILE = "faults.parquet"
_FOREVER_NS = 24 * HOUR
"""Assumed end of a fault that was not proved healed."""


def effects(faults: Sequence[Fault]) -> list[Effect]:
    """Return the recorded faults that began. A fault without a proved effect may nevertheless have done damage.

    Raises:
        BadInput: a kind of fault is not installed, or its parameters are not those that it has.
    """
    return [_effect(fault) for fault in faults if fault.targets]


def _effect(fault: Fault) -> Effect:
    kind = nemesis(fault.kind, _FILE)
    parameters = validated(kind.parameters, dict(fault.parameters), _FILE, "")
    lasted_ns = (fault.healed_ns or _FOREVER_NS) - fault.start_ns
    return Effect(
        kind=fault.kind,
        targets=fault.targets,
        on_hosts=kind.hits == "hosts",
        damage=kind.damage(parameters),
        start_ns=fault.start_ns,
        healed_ns=fault.healed_ns,
        number=fault.number,
        on_links=kind.on_links,
        delays=kind.delays,
        moves=kind.moves,
        proved=fault.effective_ns is not None,
        abrupt=kind.is_abrupt(parameters),
        ahead_ns=kind.ahead_ns(parameters, lasted_ns),
        partitions=frozenset(fault.damaged),
        deleted=frozenset(fault.deleted.items()),
        reset=frozenset(fault.reset.items()),
        acts=kind.acts(parameters),
        peers=tuple(kind.peers(parameters)),
        late_ns=kind.late_ns(parameters),
        messages=kind.messages(parameters),
        done_ns=fault.healed_ns if kind.damages_until_healed else fault.effective_ns or fault.healed_ns,
        only_since_start=kind.damages_until_healed,
    )


NO_FAULT = -1
"""The number of an effect that is no fault of the run."""

_NOTICED_NS = 3 * SECOND
"""How long before a service was found to have exited it may have, and how long after it may take to be back."""


def exits(crashed: Iterable[Mapping[str, Any]]) -> list[Effect]:
    """Return services that exited by themselves, which is judged apart, as what happened to their hosts' processes.

    Args:
        crashed: the crashes, as in recovery.json.
    """
    return [
        Effect(
            kind=f"exit of {crash['service']}",
            targets=(crash["host"],),
            on_hosts=True,
            damage=Damage.NONE,
            start_ns=crash["at_ns"] - _NOTICED_NS,
            healed_ns=crash["at_ns"] + _NOTICED_NS,
            number=NO_FAULT,
            abrupt=True,
            acts=Act.ENDS,
            done_ns=crash["at_ns"],
        )
        for crash in crashed
    ]
