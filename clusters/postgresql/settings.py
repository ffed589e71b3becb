"""The files that a server reads, and where they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RELEASE = "17"
PROGRAMS = f"/usr/lib/postgresql/{RELEASE}/bin"
PORT = 5432
USER = "chaoskit"
CONF, ACCESS, BACKENDS = (f"/etc/chaoskit/{name}" for name in ("postgresql.conf", "pg_hba.conf", "backends.py"))

ACCESS_RULES = "local all all trust\nhost all all all trust\n"
"""Nobody but the lab's hosts and this machine reaches the server."""

_FIXED: Mapping[str, Any] = {
    "port": PORT,
    "unix_socket_directories": "/tmp",  # noqa: S108 - of the host
    "hba_file": ACCESS,
    # What is in /dev/shm is the machine's, and would outlive the host.
    "dynamic_shared_memory_type": "mmap",
    "logging_collector": False,
    "log_min_messages": "warning",
}

OWN = frozenset({*_FIXED, "listen_addresses", "data_directory", "config_file", "ident_file", "external_pid_file"})
"""What a scenario must not set."""


def data_folder(data_dir: str) -> str:
    """Return where a server keeps its data, given the mount point of its host's data disk."""
    return f"{data_dir}/postgresql"


def postgresql_conf(settings: Mapping[str, Any], address: str, data_dir: str) -> str:
    """Return the configuration file.

    >>> print(postgresql_conf({"fsync": False}, "10.0.0.1", "/data").splitlines()[-1])
    fsync = 'off'
    """
    placed = {"listen_addresses": address, "data_directory": data_folder(data_dir)}
    return "".join(f"{name} = {_quoted(value)}\n" for name, value in {**_FIXED, **placed, **settings}.items())


def _quoted(value: Any) -> str:
    text = ("on" if value else "off") if isinstance(value, bool) else str(value)
    return "'" + text.replace("'", "''") + "'"
