"""A machine that nobody can log in to: a refused connection is closed, not left to the server's patience.

OpenSSH 9.8 and later refuses all connections of an address for a while whose logins were left open.
"""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paramiko
import pytest

from chaoskit.base.waiting import wait_until
from chaoskit.contract.hosts.host import HostError
from clusters.hosts.remote.inventory import Reach
from clusters.hosts.remote.machine import RemoteMachine


class _Refusing(paramiko.ServerInterface):
    def get_allowed_auths(self, username: str) -> str:
        return "publickey"


@pytest.fixture
def server() -> Iterator[tuple[int, paramiko.PKey, list[paramiko.Transport]]]:
    """An SSH server that lets nobody in: its port, its host key, and the connections to it."""
    key, seen = paramiko.RSAKey.generate(2048), []
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:

        def serve() -> None:
            transport = paramiko.Transport(listening.accept()[0])
            transport.add_server_key(key)
            seen.append(transport)
            transport.start_server(server=_Refusing())

        serving = pool.submit(serve)
        yield listening.getsockname()[1], key, seen
        serving.cancel()
        for transport in seen:
            transport.close()


@pytest.mark.parametrize("known", [False, True], ids=["unknown host key", "refused login"])
def test_a_refused_connection_is_closed(
    server: tuple[int, paramiko.PKey, list[paramiko.Transport]], tmp_path: Path, known: bool
) -> None:
    port, key, seen = server
    line = f"[127.0.0.1]:{port} {key.get_name()} {key.get_base64()}\n"
    (tmp_path / "known_hosts").write_text(line if known else "")
    mine = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(mine)], check=True)
    reach = Reach(address="127.0.0.1", port=port, user="me", key=str(mine), known_hosts=str(tmp_path / "known_hosts"))
    machine = RemoteMachine("k1", "127.0.0.1", reach)

    with pytest.raises(HostError, match="uthentication" if known else "not found in known_hosts") as refused:
        machine.run(["true"])

    (transport,) = seen
    assert wait_until(lambda: not transport.is_active(), 30), f"left open after {refused.value}"
