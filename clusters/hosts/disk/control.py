"""Client for the control socket of a programmable disk: one request, one response."""

from __future__ import annotations

import json
import socket
import struct
from pathlib import Path
from typing import Any

from chaoskit.contract.hosts.host import HostError
from clusters.hosts.disk import layout

_TIMEOUT_S = 10
_CREDENTIALS = struct.Struct("iII")  # struct ucred: pid, uid, gid


def ask(folder: Path, verb: str, **arguments: Any) -> dict[str, Any]:
    """Send a request to the disk whose files are in a folder.

    Raises:
        HostError: it does not answer, or rejects the request.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_TIMEOUT_S)
        try:
            connection.connect(str(folder / layout.SOCKET))
            connection.sendall(json.dumps({"do": verb, **arguments}).encode() + b"\n")
            answer = json.loads(connection.makefile("rb").readline())
        except (OSError, ValueError) as error:
            raise HostError(f"the programmable disk in {folder} does not answer `{verb}`: {error!r}") from error
    if "error" in answer:
        raise HostError(f"the programmable disk in {folder} rejected `{verb}`: {answer['error']}")
    return dict(answer)


def server(folder: Path) -> int:
    """Return the id of the process that serves the disk whose files are in a folder.

    Raises:
        HostError: it does not answer.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_TIMEOUT_S)
        try:
            connection.connect(str(folder / layout.SOCKET))
        except OSError as error:
            raise HostError(f"the programmable disk in {folder} does not answer: {error!r}") from error
        peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    return int(_CREDENTIALS.unpack(peer)[0])


def last_cut(folder: Path) -> dict[str, Any]:
    """Return the record of the last power cut; empty if there was none. Does not need the server."""
    path = folder / layout.CUTS
    lines = path.read_text().splitlines() if path.exists() else []
    return dict(json.loads(lines[-1])) if lines else {}
