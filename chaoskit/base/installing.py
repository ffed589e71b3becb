"""How to install what is missing: chaoskit is on no index, so it comes from where it was installed from."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_NAME = "chaoskit"


def with_extra(extra: str) -> str:
    """Return the command that installs chaoskit with the packages of an extra."""
    return _command(extra, _origin())


def _command(extra: str, origin: Any) -> str:
    """Return the command, given the content of direct_url.json (PEP 610); None: it came from an index."""
    if not isinstance(origin, dict) or not isinstance(origin.get("url"), str):
        return f"pip install '{_NAME}[{extra}]'"
    url = origin["url"]
    if "dir_info" in origin:
        editable = "-e " if origin["dir_info"].get("editable") else ""
        return f"pip install {editable}'{Path(unquote(urlsplit(url).path))}[{extra}]'"
    if "vcs_info" in origin:
        vcs_info = origin["vcs_info"]
        revision = vcs_info.get("requested_revision") or vcs_info.get("commit_id")
        url = f"{vcs_info.get('vcs', 'git')}+{url}{f'@{revision}' if revision else ''}"
    return f"pip install '{_NAME}[{extra}] @ {url}'"


def _origin() -> Any:
    try:
        return json.loads(distribution(_NAME).read_text("direct_url.json") or "null")
    except (PackageNotFoundError, ValueError):
        return None
