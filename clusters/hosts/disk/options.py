"""Options of the data disk of local hosts, and creation of its image."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from pydantic import ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer, model_validator

from chaoskit.base.errors import BadInput
from chaoskit.base.installing import with_extra
from chaoskit.base.quantities import Size
from chaoskit.contract.disk import DiskSettings
from chaoskit.contract.host import HostError
from clusters.hosts.disk.crash import copy_sparse

_ONLY_PROGRAMMABLE = {*DiskSettings.model_fields, "record"}
_XFS_SIZE_MIN = 300 * 2**20
REMEDY = f"apt-get install libfuse3-dev fuse3 pkg-config gcc python3-dev; {with_extra('disk')}"


class DiskOptions(DiskSettings):
    """The data disk of each local host: `cluster: {disk: {size: 2GiB, filesystem: xfs}}`.

    Attributes:
        kind: `plain`, or `programmable`, which also supports the settings of `DiskSettings`.
        record: keep the disk's initial state and a log of its operations; see `clusters.hosts.disk.crash`.
        images: by host name, a disk image to start from instead of an empty disk.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: Size = 4 * 2**30
    filesystem: Literal["ext4", "xfs"] = "ext4"
    kind: Literal["plain", "programmable"] = "plain"
    record: bool = False
    images: Mapping[str, Path] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _needs_programmable(self) -> DiskOptions:
        only = sorted(self.model_fields_set & _ONLY_PROGRAMMABLE)
        if self.kind == "plain" and only:
            raise ValueError(f"{', '.join(only)}: requires a programmable disk; add kind: programmable")
        return self

    @model_serializer(mode="wrap")
    def _of_its_kind(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content: dict[str, Any] = dump(self)
        hidden = _ONLY_PROGRAMMABLE if self.kind == "plain" else {key for key in content if content[key] is None}
        return {key: value for key, value in content.items() if key not in hidden}

    def settings(self) -> DiskSettings:
        """Return the settings of a programmable disk."""
        return DiskSettings.model_construct(**{key: getattr(self, key) for key in DiskSettings.model_fields})


def check_disk(options: DiskOptions, count: int) -> None:
    """Reject disks that this machine cannot create for this number of hosts.

    Raises:
        BadInput: names the remedy.
    """
    if options.filesystem == "xfs" and options.size < _XFS_SIZE_MIN:
        raise BadInput("cluster.disk.size: XFS needs at least 300MiB")
    if options.kind == "programmable" and (find_spec("pyfuse3") is None or not Path("/dev/fuse").exists()):
        raise BadInput(f"cluster.disk.kind: a programmable disk needs FUSE and pyfuse3: {REMEDY}; modprobe fuse")
    for name, image in options.images.items():
        if name not in {f"n{index}" for index in range(1, count + 1)}:
            raise BadInput(f"cluster.disk.images.{name}: no such host; the hosts are n1 to n{count}")
        if not image.is_file():
            raise BadInput(f"cluster.disk.images.{name}: {image} is not a file")


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
