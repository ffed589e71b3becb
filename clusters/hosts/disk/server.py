"""The server of a programmable disk: a FUSE file system with one file, controlled by JSON lines over a Unix socket.

Runs in the host's own namespaces, started by host-init.sh as `python -m clusters.hosts.disk.server FOLDER`, and dies
with the host. Requests on the socket: `{"do": "program", "settings": {...}}`, and `{"do": VERB}` with the verbs
`settings`, `counters` and `cut`; the response to each is one line.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import stat
import sys
from collections.abc import Callable
from errno import EIO
from pathlib import Path
from typing import Any

import pyfuse3
import trio
from pydantic import ValidationError

from chaoskit.contract.hosts.disk import DiskSettings
from clusters.hosts.disk import layout
from clusters.hosts.disk.device import Device
from clusters.hosts.disk.oplog import OperationLog

_FILE = 2
_HANDLE = 1


class OneFile(pyfuse3.Operations):
    """The root folder and its only file."""

    def __init__(self, device: Device) -> None:
        super().__init__()
        self._device = device

    async def lookup(self, parent: int, name: bytes, ctx: Any = None) -> Any:
        if name != layout.SERVED.encode():
            raise pyfuse3.FUSEError(2)
        return await self.getattr(_FILE)

    async def getattr(self, inode: int, ctx: Any = None) -> Any:
        attributes = pyfuse3.EntryAttributes()
        attributes.st_ino = inode
        attributes.st_mode = (stat.S_IFREG | 0o600) if inode == _FILE else (stat.S_IFDIR | 0o700)
        attributes.st_size = self._device.size if inode == _FILE else 0
        attributes.entry_timeout = attributes.attr_timeout = 3600
        return attributes

    async def setattr(self, inode: int, attr: Any, fields: Any, fh: Any, ctx: Any) -> Any:
        return await self.getattr(inode)

    async def open(self, inode: int, flags: int, ctx: Any) -> Any:
        return pyfuse3.FileInfo(fh=_HANDLE, direct_io=True)

    async def read(self, fh: int, off: int, size: int) -> bytes:
        try:
            return await self._device.read(off, size)
        except OSError as error:
            raise pyfuse3.FUSEError(error.errno or EIO) from None

    async def write(self, fh: int, off: int, buf: bytes) -> int:
        try:
            await self._device.write(off, buf)
        except OSError as error:
            raise pyfuse3.FUSEError(error.errno or EIO) from None
        return len(buf)

    async def fsync(self, fh: int, datasync: bool) -> None:
        try:
            await self._device.flush()
        except OSError as error:
            raise pyfuse3.FUSEError(error.errno or EIO) from None

    async def flush(self, fh: int) -> None:
        """Do nothing: a disk has no descriptors, so closing one does not flush."""

    async def release(self, fh: int) -> None:
        """Do nothing: there is no state per descriptor."""

    async def access(self, inode: int, mode: int, ctx: Any) -> bool:
        return True


class DiskControl:
    """Handles the requests of the harness."""

    def __init__(self, device: Device, cuts: Path) -> None:
        self._device = device
        self._cuts = cuts
        self._verbs: dict[str, Callable[[dict[str, Any]], Any]] = {
            "program": self._program,
            "settings": self._settings,
            "counters": lambda _: device.counters(),
            "cut": self._cut,
        }

    async def serve(self, stream: trio.SocketStream) -> None:
        """Serve one connection."""
        async with stream:
            buffer = b""
            while chunk := await stream.receive_some():
                buffer += chunk
                *lines, buffer = buffer.split(b"\n")
                for line in lines:
                    await stream.send_all(json.dumps(self._answer(line)).encode() + b"\n")

    def _answer(self, line: bytes) -> Any:
        try:
            request = json.loads(line)
            return self._verbs[request["do"]](request)
        except (ValueError, KeyError, TypeError, ValidationError) as error:
            return {"error": f"{type(error).__name__}: {error}"}

    def _program(self, request: dict[str, Any]) -> Any:
        self._device.program(DiskSettings.model_validate(request["settings"]))
        return self._settings(request)

    def _settings(self, _: dict[str, Any]) -> Any:
        return self._device.settings.model_dump(mode="json")

    def _cut(self, _: dict[str, Any]) -> Any:
        record = self._device.cut().as_json()
        with self._cuts.open("a") as file:
            file.write(json.dumps(record) + "\n")
        return record


def _listener(path: Path) -> trio.SocketListener:
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.setblocking(False)
    listening.bind(str(path))
    listening.listen()
    return trio.SocketListener(trio.socket.from_stdlib_socket(listening))


async def _serve(folder: Path) -> None:
    settings = DiskSettings.model_validate_json((folder / layout.SETTINGS).read_text())
    cuts = folder / layout.CUTS
    log = OperationLog(folder / layout.LOG) if (folder / layout.BASE).exists() else None
    device = Device(folder / layout.IMAGE, settings, log, len(cuts.read_text().splitlines()) if cuts.exists() else 0)
    options = {"fsname=chaoskit-disk", "allow_other", "nosuid", "nodev"}
    control = DiskControl(device, cuts)
    pyfuse3.init(OneFile(device), str(folder / layout.MOUNT), options)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.serve_listeners, control.serve, [_listener(folder / layout.SOCKET)])
            await pyfuse3.main()
            nursery.cancel_scope.cancel()
    finally:
        pyfuse3.close(unmount=True)


def main(folder: Path) -> None:
    """Serve until the file system is unmounted or the process is killed."""
    os.chdir("/")
    gc.freeze()
    trio.run(_serve, folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
