"""A dead man's switch: each fault is installed on a host together with the means to undo it.

Before the fault is injected, `hold` installs a script on the host that undoes it, and a watchdog that waits for the
harness's heartbeat. If there is none for `DEAD_MAN_S`, because the harness died or lost the network, the watchdog
undoes the fault. It does not depend on the wall clock, so clock faults do not affect it. The scripts need bash,
util-linux and coreutils.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from chaoskit.base.parallel import on_each
from chaoskit.contract.faults.nemesis import NemesisError, Strike
from chaoskit.contract.hosts.host import HostError, ServiceHost
from chaoskit.contract.hosts.shell import bash
from chaoskit.contract.hosts.switch import FOLDER, RELEASE, SAY, UNDO

DEAD_MAN_S = 30.0
"""How long a host waits for the harness's heartbeat before it undoes a fault."""

_PULSE_S = 1.0
_PULSE_TIMEOUT_S = 5
_EARLY = "undone early"

_WATCHDOG = (
    UNDO
    + """
while read -r -t "$seconds" -u 3 pulse; do [ "$pulse" = over ] && exit; done
[ -e "$held.undo" ] || exit
: > "$held.early"
until undo; do sleep 1; done
"""
)

_HOLD = """
export held=$1 seconds=$2
mkdir -p "${held%/*}"
[ -p "$held.pulse" ] || mkfifo "$held.pulse" || exit
printf %s "$4" > "$held.undo" || exit
exec 3<> "$held.pulse"
setsid bash -c "$5" watchdog < /dev/null > /dev/null 2>&1 &
exec 3>&-
eval "$3"
"""
"""The watchdog inherits the open pipe, so it misses no message and cannot open the pipe of another fault."""

_PULSE = SAY + "held=$1; say alive"


@dataclass(slots=True)
class _Pulses:
    """What ends the pulse of each host, by its name; the hosts whose dead man's switch undid the fault early."""

    over: dict[str, threading.Event] = field(default_factory=dict)
    early: list[str] = field(default_factory=list)


def hold(strike: Strike, host: ServiceHost, act: str, undo: str) -> str:
    """Inject a fault on a host, protected by the dead man's switch; return the output.

    Args:
        strike: names the fault on the host.
        host: the host.
        act: bash script that injects the fault.
        undo: bash script that undoes it; must be idempotent, and exit with 0 once it is undone.

    Raises:
        HostError: `act` failed.
    """
    held = f"{FOLDER}/{strike.name}"
    done = bash(host, _HOLD, held, str(DEAD_MAN_S), act, undo, _WATCHDOG)
    over = strike.kept(_Pulses).over.setdefault(host.name, threading.Event())
    threading.Thread(target=_keep_alive, args=(host, held, over), name=f"pulse of {strike.name}", daemon=True).start()
    return done.out


def release(strike: Strike, hosts: Sequence[ServiceHost] | None = None) -> None:
    """Undo the strike's fault on its targets, or on these hosts, where it is in effect."""

    def act(host: ServiceHost) -> None:
        if pulse := strike.kept(_Pulses).over.get(host.name):
            pulse.set()
        printed = bash(host, RELEASE, f"{FOLDER}/{strike.name}").out
        if printed.endswith("early\n"):
            strike.kept(_Pulses).early.append(host.name)

    on_each(strike.hosts if hosts is None else hosts, act)


def check_held(strike: Strike) -> None:
    """Check, after its release, that the strike was in effect until then.

    Raises:
        NemesisError: the dead man's switch undid it earlier.
    """
    if early := strike.kept(_Pulses).early:
        raise NemesisError(
            f"the dead man's switch undid it early on {', '.join(early)}: no heartbeat from the harness "
            f"for {DEAD_MAN_S:g} s"
        )


def _keep_alive(host: ServiceHost, held: str, over: threading.Event) -> None:
    while not over.wait(min(_PULSE_S, DEAD_MAN_S / 4)):
        try:
            if bash(host, _PULSE, held, timeout_s=_PULSE_TIMEOUT_S, check=False).status != 0:
                return  # the host rebooted, and the fault is gone
        except HostError:
            continue
