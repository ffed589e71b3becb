"""Where chaoskit keeps data that outlives a run: journals, labs and the download cache.

`CHAOSKIT_STATE` (default /var/lib/chaoskit) holds journals and running labs; `CHAOSKIT_CACHE`
(default /var/cache/chaoskit, or ~/.cache/chaoskit without root) holds verified downloads.
"""

from __future__ import annotations

import os
from pathlib import Path


def state_folder() -> Path:
    """Return the folder of journals and labs (not created here)."""
    return Path(os.environ.get("CHAOSKIT_STATE", "/var/lib/chaoskit"))


def cache_folder() -> Path:
    """Return the folder of verified downloads (not created here)."""
    default = Path("/var/cache/chaoskit") if os.geteuid() == 0 else Path.home() / ".cache/chaoskit"
    return Path(os.environ.get("CHAOSKIT_CACHE", default))
