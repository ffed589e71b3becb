"""Where a system keeps its data: directories on the data disks of a host, as a scenario names them.

A directory is `DISK` or `DISK/FOLDER`: a disk by its name, and if several directories share a disk, a folder on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from chaoskit.base.errors import BadInput, nearest
from chaoskit.contract.hosts.disk import DATA, DataDisk


def _distinct(directories: list[str]) -> list[str]:
    if len(set(directories)) < len(directories):
        raise ValueError("the same directory twice; several directories on one disk are named DISK/FOLDER")
    return directories


Directory = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*(/[a-z0-9-]+)?$")]
Directories = Annotated[list[Directory], Field(min_length=1, max_length=64), AfterValidator(_distinct)]
"""Directories by disk, such as `[one, two]` or `[data/a, data/b]`."""

ON_DATA: Sequence[str] = (DATA,)


def paths(directories: Sequence[str], disks: Mapping[str, DataDisk], folder: str) -> list[str]:
    """Return the path of each directory on a host, ending in `folder`."""
    return [f"{_root(directory, disks)}/{folder}" for directory in directories]


def check_directories(directories: Sequence[str], disks: Sequence[str], key: str) -> None:
    """Reject directories on disks that the hosts do not have.

    Raises:
        BadInput: names the key and the remedy.
    """
    for directory in directories:
        disk = directory.partition("/")[0]
        if disk not in disks:
            raise BadInput(
                f"{key}: the hosts have no disk {disk!r}, add it to cluster.disk.disks; {nearest(disk, disks)}"
            )


def _root(directory: str, disks: Mapping[str, DataDisk]) -> str:
    disk, _, folder = directory.partition("/")
    return f"{disks[disk].path}/{folder}" if folder else disks[disk].path
