"""Compiles what is in C when chaoskit is installed; without a compiler, its Python counterpart is used.

`CHAOSKIT_PURE=1` leaves it out, for a wheel that every Python takes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_SOURCES = (
    "chaoskit/history/recording/hot.c",
    "chaoskit/model/occurrences.c",
    "chaoskit/interop/jepsen/scan.c",
)
_FLAGS = ("-O2", "-Wall", "-Wno-missing-field-initializers", "-shared", "-fPIC")


class CompileHook(BuildHookInterface[Any]):
    """Runs before a wheel, or an editable installation, is made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile beside the source, and say that the wheel is for this platform."""
        if self.target_name != "wheel" or os.environ.get("CHAOSKIT_PURE"):
            return
        compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
        headers = sysconfig.get_paths()["include"]
        targets = []
        for source in (Path(self.root) / each for each in _SOURCES):
            target = source.with_name(f"_{source.stem}{sysconfig.get_config_var('EXT_SUFFIX')}")
            try:
                subprocess.run([compiler, *_FLAGS, f"-I{headers}", str(source), "-o", str(target)], check=True)
            except (OSError, subprocess.CalledProcessError) as error:
                target.unlink(missing_ok=True)
                sys.stderr.write(f"it will be slower: {source} was not compiled: {error}\n")
            else:
                targets.append(str(target.relative_to(self.root)))
        if targets:
            build_data["artifacts"] += targets
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
