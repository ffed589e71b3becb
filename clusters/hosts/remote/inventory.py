"""An inventory: the hosts that chaoskit may touch, how it reaches them, and what runs on them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from clusters.hosts.remote.service import Service

_RESERVED = {"all", "clients", "harness", "hosts", "majority", "minority", "one"}

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class HostSpec(BaseModel):
    """One host. What OpenSSH's own configuration says of it holds, unless a key here says otherwise.

    Attributes:
        address: IP address, or a name that has one, at which the other hosts reach it; its name by default.
        ssh: name or alias by which SSH reaches it; the address by default.
        user: whom SSH logs in as.
        port: port of its SSH server.
        key: file of a private key, besides those of the agent.
        jump: host that SSH goes through, as `user@host:port`.
        known_hosts: file of known host keys, besides OpenSSH's.
        become: how to become root: `sudo` without a password, or not at all (`none`) if the user is root.
        node: id of its node in the system; needed where the node's address is not the host's.
        services: the services that faults may stop, by name.
        data: folder on its data disk, which `disk-full` may fill.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    address: str = ""
    ssh: str = ""
    user: str | None = None
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    key: str | None = None
    jump: str | None = None
    known_hosts: str | None = None
    become: Literal["sudo", "none"] = "sudo"
    node: str = ""
    services: Annotated[dict[Name, Service], Field(min_length=1)]
    data: Annotated[str, StringConstraints(pattern="^/.")] | None = None


class Inventory(BaseModel):
    """The content of an inventory. Nothing that it does not name is touched.

    Attributes:
        hosts: the hosts, by their names.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    hosts: Annotated[dict[Name, HostSpec], Field(min_length=1)]

    @model_validator(mode="after")
    def _no_word_of_scenarios(self) -> Inventory:
        for name in self.hosts:
            if name in _RESERVED or name.isdigit():
                raise ValueError(f"hosts.{name}: faults use this word for something else; give the host another name")
        return self
