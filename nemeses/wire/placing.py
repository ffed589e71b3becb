"""Places taps on hosts, and talks to them.

A tap is reached by TPROXY: a connection that arrives at one of the system's ports is delivered to the tap as it is,
and the tap goes on over loopback as the client's address, with a mark by which the system's answers find the way back.
So both ends see each other's true addresses; only the port of the client is another one. IPv4 only. Connections of a
host with itself do not pass its tap. If the tap's process ends, connections go to the system directly.
"""

from __future__ import annotations

import importlib.util
import io
import json
import shlex
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chaoskit.contract.hosts.host import HostError, ServiceHost
from chaoskit.contract.hosts.shell import bash
from chaoskit.contract.systems.wire import Wire
from nemeses.wire.tap import MARK

_FOLDER = "/run/chaoskit/wire"
_CONTROL = f"{_FOLDER}/tap.socket"
_PORT = 7457
_TABLE = "chaoskit_wire"
_ROUTES = 5757
"""Number of the routing table by which answers to the tap stay on the host."""

_MODULES = (
    "chaoskit.contract.systems.wire",
    "nemeses.wire.carried",
    "nemeses.wire.rules",
    "nemeses.wire.flow",
    "nemeses.wire.channel",
    "nemeses.wire.tap",
)

_OURS = shlex.quote(str(Path(sys.executable).resolve()))
_PYTHON = f"$(test -x {_OURS} && echo {_OURS} || echo python3) -I -S -c"
"""This machine's Python, or that of a host with another root."""

_PROGRAM = (
    f"import sys; sys.path.insert(0, {_FOLDER!r} + '/tap.zip'); from nemeses.wire.tap import main; main(sys.argv[1])"
)

_CALL = f"""
import socket, sys
caller = socket.socket(socket.AF_UNIX)
caller.settimeout(10)
try:
    caller.connect({_CONTROL!r})
except OSError:
    sys.exit(3)
caller.sendall(sys.argv[1].encode() + b"\\n")
caller.shutdown(socket.SHUT_WR)
sys.stdout.write(caller.makefile().read())
"""
_NO_TAP = 3
"""Exit status of the call if there is no tap."""

_START = f"""
setsid {_PYTHON} {shlex.quote(_PROGRAM)} "$1" < /dev/null > {_FOLDER}/tap.log 2>&1 &
echo $! > {_FOLDER}/tap.pid
until [ -S {_CONTROL} ]; do
    kill -0 $! 2> /dev/null || {{ cat {_FOLDER}/tap.log >&2; exit 1; }}
    sleep 0.005
done
while ip rule delete fwmark {MARK} lookup {_ROUTES} 2> /dev/null; do :; done
ip rule add fwmark {MARK} lookup {_ROUTES} || exit
ip route replace local default dev lo table {_ROUTES} || exit
nft -f - <<RULES
table ip {_TABLE}
delete table ip {_TABLE}
table ip {_TABLE} {{
    chain arriving {{ type filter hook prerouting priority mangle; policy accept;
        iif lo accept
        tcp dport {{ $2 }} tproxy to :{_PORT} accept
    }}
    chain leaving {{ type route hook output priority mangle; policy accept;
        meta mark {MARK} ct mark set {MARK}
        ct direction reply ct mark {MARK} meta mark set {MARK}
    }}
}}
RULES
"""

_RESET = """
for port in $1; do sports="${sports:+$sports or }sport = :$port"; done
ss -HtnK state established "( $sports )"
"""


def place(host: ServiceHost, wire: Wire) -> None:
    """Place a tap on a host, unless there is one."""
    if call(host, {}) is not None:
        return
    host.run(["rm", "-f", _CONTROL])
    host.put(_archive(wire), f"{_FOLDER}/tap.zip")
    argument = json.dumps({"decoders": dict(wire.decoders), "port": _PORT, "control": _CONTROL})
    bash(host, _START, argument, ", ".join(map(str, wire.decoders)))


def place_late(host: ServiceHost, wire: Wire) -> int:
    """Place a tap on a host, unless there is one; return how many connections had escaped it, and were reset."""
    if call(host, {}) is not None:
        return 0
    place(host, wire)
    return len(bash(host, _RESET, " ".join(map(str, wire.decoders))).out.splitlines())


def call(host: ServiceHost, request: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a tap's answer to one request; None if there is no tap on the host."""
    done = bash(host, _calling(request), check=False)
    if done.status == _NO_TAP:
        return None
    if done.status != 0 or not done.out:
        raise HostError(f"the tap on {host.name} did not answer: {done.err.strip()}")
    answer: dict[str, Any] = json.loads(done.out)
    return answer


def ended(host: ServiceHost) -> str:
    """Return what is said of a tap that is not there any more."""
    return f"the tap on {host.name} has ended; its log was {_FOLDER}/tap.log there"


def scripts(name: str, rule: Mapping[str, Any]) -> tuple[str, str]:
    """Return the bash scripts that put a rule into effect on a host, and end it; without a tap it has ended."""
    undo = f"{_calling({'end': name})} > /dev/null; case $? in 0 | {_NO_TAP}) true;; *) false;; esac"
    return _calling({"add": name, "rule": rule}), undo


def _calling(request: Mapping[str, Any]) -> str:
    return f"{_PYTHON} {shlex.quote(_CALL)} {shlex.quote(json.dumps(request))}"


def _archive(wire: Wire) -> bytes:
    """Return a zip file with the modules that a tap needs; their packages are empty in it."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        packages: set[str] = set()
        for module in sorted({*_MODULES, *(decoder.partition(":")[0] for decoder in wire.decoders.values())}):
            packages |= _packages(module)
            archive.writestr(f"{module.replace('.', '/')}.py", _source(module))
        for package in packages:
            archive.writestr(f"{package.replace('.', '/')}/__init__.py", "")
    return content.getvalue()


def _packages(module: str) -> set[str]:
    names: Sequence[str] = module.split(".")
    return {".".join(names[:length]) for length in range(1, len(names))}


def _source(module: str) -> bytes:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_bytes()
