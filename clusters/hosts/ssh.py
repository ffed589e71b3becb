"""A host that is accessed over SSH, regardless of who created it. Commands share one open connection.

A command costs one channel on that connection: a few milliseconds. A broken connection, for example
after a power cut, is re-established.
"""

from __future__ import annotations

import io
import logging
import shlex
import socket
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import paramiko
from fabric import Connection

from chaoskit.contract.hosts.host import CommandResult, HostError, ServiceState
from chaoskit.contract.power import P, held
from clusters.hosts.connection import SharedConnection, cause, close

SERVICE_FOLDER = "/run/chaoskit"
LOG_FOLDER = "/var/log/chaoskit"

SERVICE_USER = 64042
"""User and group id that services run as. Debian leaves 60000 to 64999 to packages, which hardly use it."""

CONNECT_TIMEOUT_S = 5
_ATTEMPTS = 4
_NO_STATUS = -1
"""The exit status that paramiko returns if the connection was lost."""

# A host that loses power resets its connection; it is recorded as a fault and need not be logged by the library.
logging.getLogger("paramiko").addHandler(logging.NullHandler())


class SshHost:
    """A machine that is accessed as root with a private key.

    Args:
        name: short name.
        address: IP address.
        key_file: private key.
        data_dir: where its data disk is mounted.
        address6: IPv6 address; empty if it has none.
    """

    def __init__(self, name: str, address: str, key_file: Path, data_dir: str = "/data", address6: str = "") -> None:
        self.name = name
        self.address = address
        self.address6 = address6
        self.data_dir = data_dir
        self._port = 22
        self._key_file = key_file
        self._shared = SharedConnection(self._opened)

    def power(self, kind: type[P]) -> P:
        return held(kind, [self], f"host {self.name}")

    def run(self, argv: Sequence[str], *, timeout_s: float = 30, check: bool = True) -> CommandResult:
        return self._execute(argv, b"", timeout_s, check)

    def put(self, content: bytes, path: str) -> None:
        script = 'mkdir -p "$(dirname "$1")" && cat > "$1"'
        self._execute(["sh", "-c", script, "put", path], content, 30, check=True)

    def get(self, path: str, local: Path) -> None:
        local.parent.mkdir(parents=True, exist_ok=True)
        with self._shared.transport() as transport, transport.open_sftp_client() as sftp:
            # Not ahead of time: paramiko's thread for that goes on after the end, and fails when the channel is closed.
            sftp.get(path, str(local), prefetch=False)

    def install(self, folder: Path) -> str:
        if self.run(["test", "-e", str(folder)], check=False).status != 0:
            archive = io.BytesIO()
            with tarfile.open(fileobj=archive, mode="w") as tar:
                tar.add(folder, arcname=folder.name)
            script = 'mkdir -p "$1" && tar -x -C "$1"'
            argv = ["sh", "-c", script, "install", str(folder.parent)]
            self._execute(argv, archive.getvalue(), 300, check=True)
        return str(folder)

    def reachable(self, timeout_s: float = 0.5) -> bool:
        try:
            with socket.create_connection((self.address, self._port), timeout=timeout_s) as probe:
                probe.settimeout(timeout_s)
                return probe.recv(4) == b"SSH-"
        except OSError:
            return False

    def spawn(self, name: str, argv: Sequence[str], env: Mapping[str, str]) -> None:
        script = (
            f"mkdir -p {SERVICE_FOLDER} {LOG_FOLDER}; "
            f'setsid sh -c \'echo $$ > {SERVICE_FOLDER}/"$0".pid; exec "$@"\' '
            f'"$@" < /dev/null >> {LOG_FOLDER}/"$1".log 2>&1 & '
            f'while [ ! -s {SERVICE_FOLDER}/"$1".pid ]; do sleep 0.01; done'
        )
        variables = [f"{key}={value}" for key, value in env.items()]
        self.run(["rm", "-f", f"{SERVICE_FOLDER}/{name}.pid"])
        self.run(["env", *variables, "sh", "-c", script, "spawn", name, *self.as_service(argv)])

    def as_service(self, argv: Sequence[str]) -> list[str]:
        return ["setpriv", f"--reuid={SERVICE_USER}", f"--regid={SERVICE_USER}", "--clear-groups", "--", *argv]

    def signal(self, name: str, signal: str) -> None:
        script = f'pid=$(cat {SERVICE_FOLDER}/"$1".pid) && kill -s {signal} -- "-$pid"'
        self.run(["sh", "-c", script, "signal", name], check=False)

    def state(self, name: str) -> ServiceState:
        script = f'pid=$(cat {SERVICE_FOLDER}/"$1".pid) && cut -d")" -f2 "/proc/$pid/stat"'
        fields = self.run(["sh", "-c", script, "state", name], check=False).out.split()
        if not fields or fields[0] in "ZX":
            return ServiceState.GONE
        return ServiceState.PAUSED if fields[0] in "Tt" else ServiceState.RUNNING

    def pid_path(self, name: str) -> str:
        return f"{SERVICE_FOLDER}/{name}.pid"

    def log_path(self, name: str) -> str:
        return f"{LOG_FOLDER}/{name}.log"

    def disconnect(self) -> None:
        """Close the connection; the next command opens a new one."""
        self._shared.close()

    def _execute(self, argv: Sequence[str], stdin: bytes, timeout_s: float, check: bool) -> CommandResult:
        status, out, err = self._raw(argv, stdin, timeout_s)
        if check and status != 0:
            output = (err.strip() or out.strip()).decode(errors="replace")
            raise HostError(f"host {self.name}: exit status {status} from: {shlex.join(argv)}\n{output}")
        return CommandResult(status, out.decode(errors="replace"), err.decode(errors="replace"))

    def _raw(self, argv: Sequence[str], stdin: bytes, timeout_s: float) -> tuple[int, bytes, bytes]:
        """Run a command; return its exit status and both outputs."""
        command = self._command(argv)
        try:
            with self._shared.transport() as transport:
                with transport.open_session(timeout=timeout_s) as channel:
                    channel.settimeout(timeout_s)
                    if stdin:
                        channel.exec_command(command)
                        channel.sendall(stdin)
                        channel.shutdown_write()
                    else:
                        # Do not send EOF to a command that may have exited in the meantime: sshd would treat that as an
                        # attack and close the connection (paramiko issue 1705).
                        channel.exec_command(f"{command} < /dev/null")
                    out, err = _drain(channel)
                    status = channel.recv_exit_status()
                if status == _NO_STATUS and not transport.is_active():
                    raise EOFError(f"the connection was lost{cause(transport)}{self._last_words()}")
        except (OSError, EOFError, paramiko.SSHException) as error:
            raise HostError(f"host {self.name} ({self.address}) did not answer: {error!r}; ran: {command}") from error
        return status, out, err

    def _last_words(self) -> str:
        """Return what can be told of a host that ends a connection."""
        return ""

    def _command(self, argv: Sequence[str]) -> str:
        """Return the command line that runs a command as root."""
        return shlex.join(argv)

    def _connect(self) -> Connection:
        """Return a connection that is not open yet."""
        keys = {"key_filename": str(self._key_file), "allow_agent": False, "look_for_keys": False}
        return Connection(self.address, user="root", connect_timeout=CONNECT_TIMEOUT_S, connect_kwargs=keys)

    def _opened(self) -> Connection:
        """Return a new connection. A busy machine may need longer than the time for connecting to exchange keys."""
        for attempt in range(1, _ATTEMPTS + 1):
            connection = self._connect()
            try:
                connection.open()
            except (OSError, EOFError, paramiko.SSHException) as error:
                close(connection)
                exchanging = isinstance(error, paramiko.SSHException) and "No existing session" in str(error)
                if not exchanging or attempt == _ATTEMPTS:
                    raise HostError(f"host {self.name} ({self.address}) cannot be reached: {error!r}") from error
            else:
                break
        return connection


def _drain(channel: paramiko.Channel) -> tuple[bytes, bytes]:
    """Read both outputs to the end; the smaller one (stderr) stays in the channel's own buffer meanwhile."""
    out = bytearray()
    while chunk := channel.recv(1 << 16):
        out += chunk
    err = bytearray()
    while chunk := channel.recv_stderr(1 << 16):
        err += chunk
    return bytes(out), bytes(err)
