"""Run folders: `STORE/<scenario>/<UTC time>-<id>/`, and `STORE/latest` for the newest."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from chaoskit.base import durable, yaml
from chaoskit.base.errors import BadInput

DEFAULT_STORE = Path("chaos-store")

SCENARIO, VERDICT, TIMELINE, RECOVERY = "scenario.yaml", "verdict.json", "timeline.yaml", "recovery.json"
DEPLOYMENT = "deployment.json"
"""On what a run was made, and which runs were made on it before."""

RECORDINGS = "disks"
"""Folder with what the disks of a run's hosts recorded."""

_SPACE_MIN = 512 * 2**20
"""A run is refused with less room than this: some 7 million events."""


def new_run_folder(store: Path, scenario: str) -> Path:
    """Make the folder of a new run and point `latest` at it.

    Raises:
        BadInput: the store cannot be written, or is nearly full.
    """
    name = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}"
    folder = store.absolute() / scenario / name
    try:
        folder.mkdir(parents=True)
        (folder / "wal").mkdir()
        free = shutil.disk_usage(folder).free
    except OSError as error:
        raise BadInput(f"store {store}: cannot be written: {error.strerror}; choose another with --store") from error
    if free < _SPACE_MIN:
        shutil.rmtree(folder)
        raise BadInput(
            f"store {store}: only {free / 2**20:.0f} MiB are free and a run may need {_SPACE_MIN / 2**20:.0f} MiB; "
            "free some, or choose another with --store"
        )
    _point_latest(store.absolute(), folder)
    return folder


def discard(folder: Path) -> None:
    """Remove the folder of a run that was refused before it began."""
    shutil.rmtree(folder)


def find_run(given: Path) -> Path:
    """Return a run folder from its path, from a store (its newest run) or from a scenario's folder in it.

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
    raise BadInput(f"{given}: is not a run folder (it has no {SCENARIO}); `chaoskit list` shows the runs of a store")


def runs(store: Path) -> Iterator[Path]:
    """Yield every run folder of a store, oldest first.

    Raises:
        BadInput: there is no such folder.
    """
    if not store.is_dir():
        raise BadInput(f"store {store}: there is no such folder; runs are kept where --store says")
    found = [path.parent for path in store.glob(f"*/*/{SCENARIO}") if not path.parent.parent.is_symlink()]
    yield from sorted(found, key=lambda folder: folder.name)


def run_name(folder: Path) -> str:
    """Return a run's name: scenario and folder."""
    return f"{folder.parent.name}/{folder.name}"


def write_yaml(path: Path, content: Any) -> None:
    """Write a YAML file whole or not at all."""
    durable.write(path, yaml.dump(content).encode())


def write_json(path: Path, content: Any) -> None:
    """Write a JSON file whole or not at all."""
    durable.write(path, json.dumps(content, indent=2).encode() + b"\n")


def read_yaml(path: Path) -> Any:
    """Return the content of a run's YAML file.

    Raises:
        BadInput: it is missing or damaged.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.NotYaml) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from error


def read_json(path: Path) -> Any:
    """Return the content of a run's JSON file.

    Raises:
        BadInput: it is missing or damaged.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from error


def _point_latest(store: Path, folder: Path) -> None:
    scratch = store / f".latest-{folder.name}"
    scratch.symlink_to(folder.relative_to(store))
    scratch.replace(store / "latest")
