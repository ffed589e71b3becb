"""Options of the data disks of local hosts, and creation of their images."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidationError,
    model_serializer,
    model_validator,
)

from chaoskit.base.errors import BadInput
from chaoskit.base.installing import with_extra
from chaoskit.base.quantities import Size
from chaoskit.contract.hosts.disk import DATA, DiskSettings
from chaoskit.contract.hosts.host import HostError
from clusters.hosts.disk.crash import copy_sparse

_ONLY_PROGRAMMABLE = frozenset({*DiskSettings.model_fields, "record"})
_OF_A_HOST = {"images", "disks", "record"}
"""Options that concern the first disk, or all together, and are not inherited by further disks."""

_DISKS_MAX = 8
_XFS_SIZE_MIN = 300 * 2**20


def _sized(given: Any) -> Any:
    return given if isinstance(given, Mapping) else {"size": given}


class FurtherDisk(DiskSettings):
    """A further data disk: its size, or its size and whatever differs from the first one."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: Size
    filesystem: Literal["ext4", "xfs"] | None = None
    kind: Literal["plain", "programmable"] | None = None

    @model_serializer(mode="wrap")
    def _as_given(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {key: value for key, value in dump(self).items() if key in self.model_fields_set}


DiskName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,14}$")]


class DiskOptions(DiskSettings):
    """The data disks of each local host: `cluster: {disk: {size: 2GiB, filesystem: xfs}}`.

    Attributes:
        kind: `plain`, or `programmable`, which also supports the settings of `DiskSettings`.
        record: keep the disk's initial state and a log of its operations; see `clusters.hosts.disk.crash`.
        images: by host name, a disk image to start from instead of an empty disk.
        disks: further data disks, by name: the size of each, or its options where they differ from the first one's.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: Size = 4 * 2**30
    filesystem: Literal["ext4", "xfs"] = "ext4"
    kind: Literal["plain", "programmable"] = "plain"
    record: bool = False
    images: Mapping[str, Path] = Field(default_factory=dict)
    disks: dict[DiskName, Annotated[FurtherDisk, BeforeValidator(_sized)]] = Field(default={}, max_length=_DISKS_MAX)

    @model_validator(mode="after")
    def _needs_programmable(self) -> DiskOptions:
        only = sorted(self.model_fields_set & _ONLY_PROGRAMMABLE)
        if self.kind == "plain" and only:
            raise ValueError(f"{', '.join(only)}: requires a programmable disk; add kind: programmable")
        return self

    @model_validator(mode="after")
    def _names_disks(self) -> DiskOptions:
        if DATA in self.disks:
            raise ValueError(f"disks.{DATA}: every host has a disk of this name; its options are those of cluster.disk")
        if self.disks and self.record:
            raise ValueError("record: needs hosts with one disk; remove disks, or record")
        for name in self.disks:
            self._further(name)
        return self

    @model_serializer(mode="wrap")
    def _of_its_kind(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = dump(self)
        hidden = _ONLY_PROGRAMMABLE if self.kind == "plain" else {key for key in content if content[key] is None}
        unused = hidden if self.disks else {*hidden, "disks"}
        return {key: value for key, value in content.items() if key not in unused}

    def each(self) -> dict[str, DiskOptions]:
        """Return the options of each data disk of a host, by name; the first is `data`."""
        return {DATA: self, **{name: self._further(name) for name in self.disks}}

    def _further(self, name: str) -> DiskOptions:
        first = self.model_dump(mode="json", include=self.model_fields_set - _OF_A_HOST)
        own = self.disks[name].model_dump(mode="json")
        if own.get("kind") == "plain":
            first = {key: value for key, value in first.items() if key not in _ONLY_PROGRAMMABLE}
        try:
            return DiskOptions.model_validate({**first, **own})
        except ValidationError as error:
            raise ValueError(f"disks.{name}: {error.errors()[0]['msg'].removeprefix('Value error, ')}") from error

    def settings(self) -> DiskSettings:
        """Return the settings of a programmable disk."""
        return DiskSettings.model_construct(**{key: getattr(self, key) for key in DiskSettings.model_fields})


def check_disk(options: DiskOptions, count: int) -> None:
    """Reject disks that this machine cannot create for this number of hosts.

    Raises:
        BadInput: names the remedy.
    """
    disks = options.each()
    for name, disk in disks.items():
        if disk.filesystem == "xfs" and disk.size < _XFS_SIZE_MIN:
            key = "size" if name == DATA else f"disks.{name}"
            raise BadInput(f"cluster.disk.{key}: XFS needs at least 300MiB")
    programmable = any(disk.kind == "programmable" for disk in disks.values())
    if programmable and (find_spec("pyfuse3") is None or not Path("/dev/fuse").exists()):
        raise BadInput(f"cluster.disk.kind: a programmable disk needs FUSE and pyfuse3: {fuse_remedy()}; modprobe fuse")
    for name, image in options.images.items():
        if name not in {f"n{index}" for index in range(1, count + 1)}:
            raise BadInput(f"cluster.disk.images.{name}: no such host; the hosts are n1 to n{count}")
        if not image.is_file():
            raise BadInput(f"cluster.disk.images.{name}: {image} is not a file")


def fuse_remedy() -> str:
    """Return how to install what programmable disks need."""
    return f"apt-get install libfuse3-dev fuse3 pkg-config gcc python3-dev; {with_extra('disk')}"


def make_image(image: Path, options: DiskOptions, given: Path | None = None) -> None:
    """Create an empty file system, or copy a given image.

    Raises:
        HostError: mkfs failed.
    """
    if given is not None:
        copy_sparse(given, image)
        return
    with image.open("wb") as file:
        file.truncate(options.size)
    ext4 = ["mkfs.ext4", "-q", "-F", "-m", "0", "-E", "nodiscard"]
    argv = ext4 if options.filesystem == "ext4" else ["mkfs.xfs", "-q", "-f", "-K"]
    done = subprocess.run([*argv, str(image)], text=True, capture_output=True, check=False)
    if done.returncode != 0:
        raise HostError(f"{argv[0]} failed: {done.stderr.strip()}")
