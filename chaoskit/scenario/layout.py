"""Which hosts a lab has, and what each of them is for."""

from __future__ import annotations

from pydantic import BaseModel, Field


class HostLayout(BaseModel):
    """The numbers of hosts under `cluster`.

    Attributes:
        hosts: number of hosts that the system runs on; 0 for a system that runs between its clients.
        seats: number of further hosts, on which producers and consumers run in turn; 0: they run on this machine.
        applications: number of further hosts, one for each instance of the application under test.
        databases: 1 if there is a further host, with a database to which the application writes.
    """

    hosts: int = Field(default=3, ge=0, le=200)
    seats: int = Field(default=0, ge=0, le=200)
    applications: int = Field(default=0, ge=0, le=200)
    databases: int = Field(default=0, ge=0, le=1)

    @property
    def beside(self) -> int:
        """How many hosts a lab has besides those that the system runs on."""
        return self.seats + self.applications + self.databases

    @property
    def lab_size(self) -> int:
        """How many hosts a lab has."""
        return self.hosts + self.beside

    @property
    def host_names(self) -> list[str]:
        """The names of the hosts of a lab: n1, n2, ...; first those of the system, then seats, applications and the
        database."""
        return [f"n{index}" for index in range(1, self.lab_size + 1)]

    @property
    def system_hosts(self) -> list[str]:
        """The names of the hosts that the system runs on."""
        return self.host_names[: len(self.host_names) - self.beside]

    @property
    def application_hosts(self) -> list[str]:
        """The names of the hosts of the application's instances."""
        begin = len(self.host_names) - self.applications - self.databases
        return self.host_names[begin : begin + self.applications]

    @property
    def database_host(self) -> str:
        """The name of the host of the database; empty if there is none."""
        return self.host_names[-1] if self.databases else ""
