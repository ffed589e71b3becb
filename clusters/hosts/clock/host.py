"""A host with a settable clock: a library that is preloaded into services changes the time that they see.

The host's own clock is the machine's and stays correct. Programs that do not get the time from the C library, such as
Go programs, see the true time. libfaketime (0.9.10) was tried but is not used: with a rate, sleeps fail or return
immediately, and each clock read opens a file (12 us).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from chaoskit.contract.hosts.host import HostError
from clusters.hosts.clock.library import clock_library
from clusters.hosts.ssh import SERVICE_FOLDER, SshHost

_CLOCK = f"{SERVICE_FOLDER}/clock"
_LIBRARY = f"{SERVICE_FOLDER}/clock.so"
_VARIABLES = {"LD_PRELOAD": _LIBRARY, "CHAOSKIT_CLOCK": _CLOCK}

_SECOND = 1_000_000_000

# Words are little-endian and written in the order of preload.c, so that no reader sees a rate with the wrong start.
_SET = """
word() { local value=$1 text= i; for i in 0 1 2 3 4 5 6 7; do printf -v byte '\\\\x%02x' $((value >> 8 * i & 255))
  text+=$byte; done; printf "$text" | dd of="$clock" bs=8 seek="$2" conv=notrunc status=none; }
clock=$1; mkdir -p "${clock%/*}"; [ -e "$clock" ] || head -c 24 /dev/zero > "$clock"
word 0 2; word "$2" 0; word "$(date +%s%N)" 1; word "$3" 2
"""

_SHOWS = 'maps=/proc/$(cat "$1")/maps; grep -q " $2$" "$maps" && grep -q " $3$" "$maps"'
"""The process has loaded the library, and mapped the file that is there now: a replaced one is marked `(deleted)`."""

_ERROR = 'before=$(date +%s%N); shown=$(env "$@" date +%s%N); echo $before $shown $(date +%s%N)'


class ClockHost(SshHost):
    """A host that offers SettableClock after `make_clock_settable`; before, services see the true time."""

    _settable = False

    def make_clock_settable(self) -> None:
        """Preload the library into every service that is started from now on."""
        self._settable = True

    def spawn(self, name: str, argv: Sequence[str], env: Mapping[str, str]) -> None:
        if self._settable:
            self._place_library()
            env = {**_VARIABLES, **env}
        super().spawn(name, argv, env)

    def set_clock(self, offset_ns: int, rate: float = 1.0) -> None:
        if not self._settable:
            raise HostError(f"the services of {self.name} were started without the preloaded clock")
        drift = round((rate - 1) * _SECOND)
        self.run(["bash", "--norc", "-c", _SET, "set", _CLOCK, str(offset_ns), str(drift)])

    def shows_clock(self, service: str) -> bool:
        done = self.run(["sh", "-c", _SHOWS, "shows", self.pid_path(service), _LIBRARY, _CLOCK], check=False)
        return done.status == 0

    def clock_variables(self, root: str) -> dict[str, str]:
        """Return the environment of a process that sees the clock, given where it finds the host's files; empty if it
        cannot be set."""
        if not self._settable:
            return {}
        self._place_library()
        return {key: root + path for key, path in _VARIABLES.items()}

    def clock_error_ns(self) -> int:
        self._place_library()
        variables = [f"{key}={value}" for key, value in _VARIABLES.items()]
        before, shown, after = map(int, self.run(["bash", "--norc", "-c", _ERROR, "read", *variables]).out.split())
        return shown - (before + after) // 2

    def _place_library(self) -> None:
        """Install the library and a correct clock if a boot has removed them."""
        if self.run(["test", "-e", _LIBRARY], check=False).status != 0:
            self.put(clock_library(), _LIBRARY)
        if self.run(["test", "-e", _CLOCK], check=False).status != 0:
            self.put(struct.pack("<qqq", 0, 0, 0), _CLOCK)
