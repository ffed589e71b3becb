"""A service of the owner's: how its processes are found, and how its supervisor starts it and leaves it alone."""

from __future__ import annotations

import shlex
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

_TREE = 'tree() { for each; do echo "$each"; tree $(pgrep -P "$each"); done; }\n'
_DROP_IN = "/run/systemd/system/{unit}.d/chaoskit.conf"
_STARTED = "/run/chaoskit/started.log"

_KINDS = ("systemd", "supervisor", "pid_file", "port")


class RemoteService(BaseModel):
    """One service of a host; exactly one of the first four says how its processes are found.

    Attributes:
        systemd: name of its unit.
        supervisor: its name in supervisord.
        pid_file: the file with its process id.
        port: the TCP port that it listens on.
        start: command that starts it, if nothing supervises it; it must return once the service is started.
        log: its log, which is copied to the run folder.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    systemd: str | None = None
    supervisor: str | None = None
    pid_file: str | None = None
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    start: str | None = None
    log: str | None = None

    @model_validator(mode="after")
    def _check_one_way(self) -> Self:
        given = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if len(given) != 1:
            raise ValueError(f"say how it is found by exactly one of: {', '.join(_KINDS)}")
        if (self.start is None) == (given[0] in ("pid_file", "port")):
            raise ValueError(
                "systemd and supervisor start it themselves; remove start"
                if self.start is not None
                else f"{given[0]} needs start: the command that starts it"
            )
        return self

    @property
    def tools(self) -> tuple[str, ...]:
        """The tools that its scripts need."""
        return (
            *{"systemd": ("systemctl",), "supervisor": ("supervisorctl",), "port": ("ss",)}.get(self._kind, ()),
            "pgrep",
        )

    @property
    def ids(self) -> str:
        """The command that prints the ids of its first processes; nothing if it does not run."""
        if self.systemd:
            return f"systemctl show --property MainPID --value {self._unit} | grep -vx 0"
        if self.supervisor:
            return f"supervisorctl pid {shlex.quote(self.supervisor)} | grep -x '[1-9][0-9]*'"
        if self.pid_file:
            living = "grep -qs '^State:[[:space:]]*[^ZX]' /proc/$each/status"
            return f"for each in $(cat {shlex.quote(self.pid_file)}); do {living} && echo $each; done"
        return f"ss -Hltnp 'sport = :{self.port}' | grep -o 'pid=[0-9]*' | cut -d= -f2 | sort -u"

    @property
    def start_script(self) -> str:
        """The script that starts it, unless it runs."""
        if self.systemd:
            freed = f"rm -f {self._drop_in}; systemctl daemon-reload; systemctl reset-failed {self._unit} 2> /dev/null"
            return f"{freed}\nsystemctl start {self._unit}"
        how = f"supervisorctl start {shlex.quote(self.supervisor)}" if self.supervisor else str(self.start)
        # What it starts must not keep the connection open by its output.
        return (
            f'[ -z "$({self.ids})" ] || exit 0\nmkdir -p /run/chaoskit\n'
            f"sh -c {shlex.quote(how)} < /dev/null > {_STARTED} 2>&1 || {{ cat {_STARTED} >&2; exit 1; }}"
        )

    @property
    def kill_script(self) -> str:
        """The script that kills it, and keeps it from being started again."""
        kill = "kill -s KILL $(tree $ids) 2> /dev/null; true"
        if self.systemd:
            unwatched = (
                f"mkdir -p {self._drop_in.rpartition('/')[0]}\n"
                f"printf '[Service]\\nRestart=no\\n' > {self._drop_in}\nsystemctl daemon-reload"
            )
            return f"{_TREE}ids=$({self.ids})\n{unwatched}\n{kill}"
        if self.supervisor:
            # A service that is being stopped is not started again; a paused one does not notice that it is asked to.
            stopped = f"until supervisorctl status {shlex.quote(self.supervisor)} | grep -q STOP; do sleep 0.05; done"
            return f"{_TREE}ids=$({self.ids})\nkill -s STOP $(tree $ids)\n{self._stopping}\n{stopped}\n{kill}"
        return f"{_TREE}ids=$({self.ids})\n{kill}"

    def signal_script(self, signal: str) -> str:
        """Return the script that sends a signal; SIGTERM is left to the supervisor, which then does not start it."""
        if signal == "KILL":
            return self.kill_script
        if signal == "TERM" and self.systemd:
            return f"systemctl stop --no-block {self._unit}"
        if signal == "TERM" and self.supervisor:
            return self._stopping
        return f"{_TREE}kill -s {signal} $(tree $({self.ids})) 2> /dev/null; true"

    @property
    def _stopping(self) -> str:
        """The command that begins to have supervisord stop it."""
        return f"supervisorctl stop {shlex.quote(str(self.supervisor))} > /dev/null 2>&1 < /dev/null &"

    @property
    def _kind(self) -> str:
        return next(kind for kind in _KINDS if getattr(self, kind) is not None)

    @property
    def _unit(self) -> str:
        unit = str(self.systemd)
        return shlex.quote(unit if "." in unit else f"{unit}.service")

    @property
    def _drop_in(self) -> str:
        return _DROP_IN.format(unit=self._unit)
