"""An inventory: the machines that chaoskit may touch, how it reaches them, and what runs on them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from clusters.hosts.remote.service import RemoteService

_RESERVED = {"all", "clients", "harness", "hosts", "majority", "minority", "one"}

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class Reach(BaseModel):
    """How a machine is reached. What OpenSSH's own configuration says of it holds, unless a key here says otherwise.

    Attributes:
        address: IP address, or a name that has one; its name by default.
        ssh: name or alias by which SSH reaches it; the address by default.
        user: whom SSH logs in as.
        port: port of its SSH server.
        key: file of a private key, besides those of the agent.
        jump: host that SSH goes through, as `user@host:port`.
        known_hosts: file of known host keys, besides OpenSSH's.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    address: str = ""
    ssh: str = ""
    user: str | None = None
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    key: str | None = None
    jump: str | None = None
    known_hosts: str | None = None


class DriverSpec(Reach):
    """A machine that runs clients.

    Attributes:
        python: the Python in which chaoskit is installed there, in the version of the harness.
        folder: where its clients record; each run has a folder of its own in it, until that has been fetched.
    """

    python: str = "python3"
    folder: Annotated[str, StringConstraints(pattern="^/.")] = "/var/tmp/chaoskit"  # noqa: S108  # runs have random names


class HostSpec(Reach):
    """One host; other hosts reach it at `address`.

    Attributes:
        become: how to become root: `sudo` without a password, or not at all (`none`) if the user is root.
        node: id of its node in the system; needed where the node's address is not the host's.
        services: the services that faults may stop, by name.
        data: folder on its data disk, which `disk-full` may fill.
    """

    become: Literal["sudo", "none"] = "sudo"
    node: str = ""
    services: Annotated[dict[Name, RemoteService], Field(min_length=1)]
    data: Annotated[str, StringConstraints(pattern="^/.")] | None = None


class Inventory(BaseModel):
    """The content of an inventory. Nothing that it does not name is touched.

    Attributes:
        hosts: the hosts of the system's nodes, by their names.
        drivers: machines that run clients, by their names.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    hosts: dict[Name, HostSpec] = {}
    drivers: dict[Name, DriverSpec] = {}

    @model_validator(mode="after")
    def _names_something(self) -> Inventory:
        if not self.hosts and not self.drivers:
            raise ValueError("hosts: name at least one host, or at least one of drivers")
        return self

    @model_validator(mode="after")
    def _no_word_of_scenarios(self) -> Inventory:
        for name in self.hosts:
            if name in _RESERVED or name.isdigit():
                raise ValueError(f"hosts.{name}: faults use this word for something else; give the host another name")
        return self
