"""Compiles chaoskit/history/hot.c when chaoskit is installed; without a compiler, its Python counterpart is used.

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

_FLAGS = ("-O2", "-Wall", "-Wno-missing-field-initializers", "-shared", "-fPIC")


class CompileHook(BuildHookInterface[Any]):
    """Runs before a wheel, or an editable installation, is made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile beside the source, and say that the wheel is for this platform."""
        if self.target_name != "wheel" or os.environ.get("CHAOSKIT_PURE"):
            return
        source = Path(self.root) / "chaoskit" / "history" / "hot.c"
        target = source.with_name(f"_hot{sysconfig.get_config_var('EXT_SUFFIX')}")
        compiler = (sysconfig.get_config_var("CC") or "cc").split()[0]
        headers = sysconfig.get_paths()["include"]
        try:
            subprocess.run([compiler, *_FLAGS, f"-I{headers}", str(source), "-o", str(target)], check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            target.unlink(missing_ok=True)
            sys.stderr.write(f"recording will be slower: {source} was not compiled: {error}\n")
            return
        build_data["artifacts"].append(str(target.relative_to(self.root)))
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
