"""Run folders: `STORE/<scenario>/<UTC time>-<id>/`; `STORE/latest` points to the newest."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from typing_extensions import TypedDict

from chaoskit.base import durable, owner, yaml
from chaoskit.base.errors import BadInput
from chaoskit.base.reading import RESTORE, reading, shaped

DEFAULT_STORE = Path("chaos-store")

SCENARIO, VERDICT, TIMELINE, RECOVERY = "scenario.yaml", "verdict.json", "timeline.yaml", "recovery.json"
DEPLOYMENT = "deployment.json"
"""The deployment that a run used, and the earlier runs on it."""

EFFECTIVE = "effective.json"
"""The settings in effect, as the system reported them before the load."""

MACHINE = "machine.jsonl"
"""What the machine did while the load ran."""

IDS = "ids.jsonl"
"""Of a live cluster: how the clients of others name their messages."""

EXPOSURE = "exposure.json"
"""The durability lag and the loss windows in each second of a run whose disks were recorded."""

LOGS = "logs"
"""Folder with the logs of processes, by host."""

RECORDINGS = "disks"
"""Folder with the disk recordings of a run's hosts."""


class _Timeline(TypedDict):
    faults: list[dict[str, Any]]


_SPACE_MIN = 512 * 2**20
"""Free space required to start a run: enough for about 7 million events."""


def new_run_folder(store: Path, scenario: str) -> Path:
    """Create the folder of a new run and point `latest` to it.

    Raises:
        BadInput: the store cannot be written, or is nearly full.
    """
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
    folder = store.absolute() / scenario / name
    is_new = not store.exists()
    try:
        owner.make_folder(folder)
        if is_new:  # runs are no part of the repository in which they are made
            (store / ".gitignore").write_text("*\n")
        (folder / "wal").mkdir()
        free = shutil.disk_usage(folder).free
    except PermissionError as error:
        raise owner.refused(error) from error
    except OSError as error:
        raise BadInput(
            f"store {store}: cannot be written: {error.strerror}; choose another store with --store"
        ) from error
    if free < _SPACE_MIN:
        shutil.rmtree(folder)
        raise BadInput(
            f"store {store}: only {free / 2**20:.0f} MiB are free and a run may need {_SPACE_MIN / 2**20:.0f} MiB; "
            "free some space, or choose another store with --store"
        )
    _point_latest(store.absolute(), folder)
    return folder


def discard(folder: Path) -> None:
    """Remove the folder of a run that was rejected before it started."""
    shutil.rmtree(folder)


def find_run(given: Path) -> Path:
    """Return a run folder: `given` is its path, a store, or a scenario's folder in a store (the newest run).

    Raises:
        BadInput: it is none of these.
    """
    folder = given.resolve()
    if (folder / SCENARIO).exists():
        return folder
    if (folder / "latest" / SCENARIO).exists():
        return (folder / "latest").resolve()
    if newest := max(folder.glob(f"*/{SCENARIO}"), default=None):
        return newest.parent
    if newest := max(folder.glob(f"*/*/{SCENARIO}"), key=lambda path: path.parent.name, default=None):
        return newest.parent  # a store without its link, such as a copy
    raise BadInput(f"{given}: is not a run folder (it has no {SCENARIO}); `chaoskit list` shows the runs of a store")


def runs(store: Path) -> Iterator[Path]:
    """Yield every run folder of a store, oldest first.

    Raises:
        BadInput: there is no such folder.
    """
    if not store.is_dir():
        raise BadInput(f"store {store}: no such folder; run a scenario (`chaoskit scenarios`), or set --store")
    folders = [path.parent for path in store.glob(f"*/*/{SCENARIO}") if not path.parent.parent.is_symlink()]
    if not folders and any(store.glob(f"*/{SCENARIO}")):
        raise BadInput(
            f"{store}: holds the runs of one scenario, not a store; give the store: {store.absolute().parent}"
        )
    if not folders and (store / SCENARIO).exists():
        raise BadInput(f"{store}: is one run, not a store; give the store: {store.absolute().parent.parent}")
    yield from sorted(folders, key=lambda folder: folder.name)


def run_name(folder: Path) -> str:
    """Return a run's name: `<scenario>/<folder>`."""
    return f"{folder.parent.name}/{folder.name}"


def write_yaml(path: Path, content: Any) -> None:
    """Write a YAML file atomically."""
    durable.write(path, yaml.dump(content).encode())


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file atomically."""
    durable.write(path, json.dumps(content, indent=2).encode() + b"\n")


def read_yaml(path: Path, shape: Any = dict[str, Any], remedy: str = RESTORE) -> Any:
    """Return the content of a run's YAML file.

    Args:
        path: the file.
        shape: what it holds; see `chaoskit.base.reading.shaped`.
        remedy: what the user can do if it does not.

    Raises:
        BadInput: it is missing or damaged.
    """
    with reading(path, remedy):
        return shaped(yaml.load(path.read_text(encoding="utf-8")), shape)


def read_json(path: Path, shape: Any = dict[str, Any], remedy: str = RESTORE) -> Any:
    """Return the content of a run's JSON file; see `read_yaml`."""
    with reading(path, remedy):
        return shaped(json.loads(path.read_text(encoding="utf-8")), shape)


def read_timeline(folder: Path) -> list[dict[str, Any]]:
    """Return the faults of a run's timeline.yaml.

    Raises:
        BadInput: it is missing or damaged.
    """
    timeline: _Timeline = read_yaml(folder / TIMELINE, _Timeline)
    return timeline["faults"]


def _point_latest(store: Path, folder: Path) -> None:
    scratch = store / f".latest-{folder.name}"
    scratch.symlink_to(folder.relative_to(store))
    owner.give([scratch])
    scratch.replace(store / "latest")
