"""Keeps other users of this machine away from a lab.

The services of a lab take plaintext commands from everybody, as they do on a private network. On a machine that is
shared, that would be a way to root for its other users. So only root's processes on this machine reach the hosts, and
nothing is forwarded to them from elsewhere.
"""

from __future__ import annotations

import shutil
import subprocess

from chaoskit.base.errors import BadInput
from chaoskit.contract.hosts.host import HostError

_TABLE = """
table inet {lab} {{
chain output {{
type filter hook output priority filter; policy accept;
oifname "{lab}" meta skuid != 0 reject
}}
chain forward {{
type filter hook forward priority filter; policy accept;
oifname "{lab}" iifname != "{lab}" reject
}}
}}
"""

_TRY = "try"


def shield(lab: str) -> None:
    """Let only root reach the hosts behind a lab's bridge; does nothing if this machine has no nftables.

    Raises:
        HostError: it has, and refused.
    """
    rules = _TABLE.format(lab=lab)
    if shutil.which("nft") and _nft("--check", "-f", "-", rules=rules).returncode == 0:
        done = _nft("-f", "-", rules=rules)
        if done.returncode != 0:
            raise HostError(f"nft failed: {done.stderr.strip()}")


def unshield(lab: str) -> bool:
    """Remove what `shield` made; return whether there was anything."""
    return shutil.which("nft") is not None and _nft("delete", "table", "inet", lab).returncode == 0


def try_shield() -> str:
    """Check that rules by user are possible, without leaving any."""
    if shutil.which("nft") is None:
        raise BadInput("other users of this machine can reach the hosts of a run: nft is not installed")
    done = _nft("--check", "-f", "-", rules=_TABLE.format(lab=_TRY))
    if done.returncode != 0:
        raise BadInput(f"other users of this machine can reach the hosts of a run: {done.stderr.strip()}")
    return "only root reaches the hosts of a run"


def _nft(*arguments: str, rules: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(["nft", *arguments], input=rules, text=True, capture_output=True, check=False)
