"""A dumb restart loop on the host, as systemd or Kubernetes have: a service that exits is started again after a pause.

The loop is the first process of the service's group: a signal for the service ends, pauses or resumes both, so that a
killed service stays dead until somebody starts it. Each exit is told in the service's log.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence

from chaoskit.base.quantities import SECOND
from chaoskit.contract.hosts.host import HostError, ServiceHost
from chaoskit.contract.systems.installation import Revival

LONGEST_PAUSE_S = 10
"""The pause before a start: 1 s, and twice as long after each exit, up to this."""

STEADY_S = 60
"""After having run for so long, a service is started again after 1 s."""

_MARK = "restart loop:"
_LOOP = f"""
trap 'over=1' TERM
pause=1
while :; do
    began=$(cut -d. -f1 /proc/uptime)
    "$@" & child=$!
    wait $child; status=$?
    while [ -n "$over" ] && kill -0 $child 2> /dev/null; do wait $child; done
    [ -z "$over" ] || exit $status
    ended=$(cut -d' ' -f1 /proc/uptime)
    [ $(( ${{ended%.*}} - began )) -lt {STEADY_S} ] || pause=1
    echo "{_MARK} exit status $status at $ended s, start in $pause s"
    sleep $pause & wait $!
    [ -z "$over" ] || exit $status
    pause=$(( pause * 2 < {LONGEST_PAUSE_S} ? pause * 2 : {LONGEST_PAUSE_S} ))
done
"""
_EXIT = re.compile(rf"^{_MARK} exit status (\d+) at ([\d.]+) s", re.MULTILINE)


def looped(command: Sequence[str]) -> list[str]:
    """Return the command that runs a service in a restart loop."""
    return ["sh", "-c", _LOOP, "restart-loop", *command]


def exits(host: ServiceHost, service: str, needs: tuple[str, ...]) -> list[Revival]:
    """Return each exit after which the loop of a service started it again; empty if the host cannot be asked."""
    script = 'grep "^$2" "$1"; echo "now $(cut -d" " -f1 /proc/uptime)"'
    try:
        output = host.run(["sh", "-c", script, "exits", host.log_path(service), _MARK], check=False).out
    except HostError:
        return []
    if "now " not in output:  # the shell was killed, as by a power cut, before it had printed all
        return []
    now_ns, up_s = time.monotonic_ns(), float(output.rpartition("now ")[2])
    return [
        Revival(now_ns - int((up_s - float(at_s)) * SECOND), host.name, service, needs, f"exited with status {status}")
        for status, at_s in _EXIT.findall(output)
    ]
