"""Reading YAML files that users write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from chaoskit.base import yaml
from chaoskit.base.errors import BadInput

HERE = "{here}"
"""Stands for the folder of the file in which it is written."""


def load_mapping(path: Path, expected: str) -> dict[str, Any]:
    """Read a YAML file that contains a mapping, and replace `{here}` in it by the folder of the file.

    Args:
        path: path of the file.
        expected: describes its content in the error message.

    Raises:
        BadInput: names the file.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise BadInput(f"{path}: no such file") from error
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: cannot be read: {error}") from error
    try:
        content = yaml.load(text)
    except yaml.NotYaml as error:
        raise BadInput(f"{path}: is not valid YAML: {error}") from error
    if not isinstance(content, dict):
        raise BadInput(f"{path}: {expected}")
    return {key: _filled(value, str(path.parent.resolve())) for key, value in content.items()}


def _filled(content: Any, folder: str) -> Any:
    """Return what was written, with `{here}` replaced in all texts."""
    if isinstance(content, dict):
        return {key: _filled(value, folder) for key, value in content.items()}
    if isinstance(content, list):
        return [_filled(value, folder) for value in content]
    return content.replace(HERE, folder) if isinstance(content, str) else content
