"""What local hosts need from this machine, determined by trying it rather than by comparing versions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Collection

from chaoskit.base.errors import BadInput, ChaoskitError
from chaoskit.base.installing import with_extra
from chaoskit.base.state import state_folder
from chaoskit.contract.hosts.capability import Capability
from clusters.hosts import network_attempts
from clusters.hosts.clock.attempt import try_clock
from clusters.hosts.disk.attempts import try_programmable, try_throttle
from clusters.hosts.disk.options import fuse_remedy
from clusters.hosts.exposure import try_shield
from clusters.hosts.limits import try_limits

_TOOLS = {
    "ip": "iproute2", "unshare": "util-linux", "losetup": "mount", "sshd": "openssh-server",
    "ssh-keygen": "openssh-client", "mkfs.ext4": "e2fsprogs",
}  # fmt: skip
_SYSTEM_PATH = "/usr/sbin:/sbin"
_SPACE_MIN = 2 * 2**30


def require(filesystems: Collection[str]) -> None:
    """Check the requirements early.

    Raises:
        BadInput: names everything that is missing, each with its remedy.
    """
    missing = [finding for finding in _essentials() if not finding.works]
    if "xfs" in filesystems and shutil.which("mkfs.xfs") is None:
        missing.append(Capability("xfs", False, "mkfs.xfs is not installed", "apt-get install xfsprogs"))
    if missing:
        raise BadInput("; ".join(f"{finding.detail}: {finding.remedy}" for finding in missing))


def diagnose() -> list[Capability]:
    """Return a finding for everything that local hosts can use."""
    findings = _essentials()
    if all(finding.works for finding in findings):
        findings += [
            _attempt(
                "namespaces and overlay",
                _try_namespaces,
                "needs CAP_SYS_ADMIN and overlayfs; does not work in an unprivileged container",
            ),
            _attempt("power cut, ext4", lambda: _try_power_cut("ext4"), "needs loop devices: modprobe loop ext4"),
            _attempt(
                "power cut, xfs",
                lambda: _try_power_cut("xfs"),
                "apt-get install xfsprogs; modprobe xfs",
                required=False,
            ),
            _attempt("programmable disk (FUSE)", try_programmable, fuse_remedy(), required=False),
            _attempt(
                "slow plain disk (blkio throttle)",
                try_throttle,
                "needs the blkio cgroup (v1); otherwise use disk-slow with cluster.disk.kind: programmable",
                required=False,
            ),
            _attempt("clock faults (preloaded clock)", try_clock, "apt-get install gcc libc6-dev", required=False),
            _attempt(
                "hosts out of reach of other users (nftables)",
                try_shield,
                "apt-get install nftables; needs a kernel with nf_tables and nft_meta",
                required=False,
            ),
            *_of_network(),
            _attempt(
                "CPU and memory limits (cgroup)",
                try_limits,
                "needs the cgroup controllers cpu and memory, mounted writable",
                required=False,
            ),
        ]
    return findings


def _of_network() -> list[Capability]:
    """Return what faults of networks and messages can use."""
    return [
        _attempt(
            "partitions and packet loss (nftables)",
            network_attempts.try_loss,
            "needs Linux 5.16 or later with CONFIG_NETFILTER_EGRESS, and apt-get install nftables iputils-ping",
            required=False,
        ),
        _attempt(
            "packet delay, reorder, duplicate, corrupt (NFQUEUE)",
            network_attempts.try_queue,
            f"apt-get install iptables libnetfilter-queue-dev gcc python3-dev; {with_extra('network')}; "
            "modprobe xt_NFQUEUE",
            required=False,
        ),
        _attempt("bandwidth (htb)", network_attempts.try_shaping, "modprobe -a sch_htb cls_u32", required=False),
        _attempt(
            "reset and half-open connections (ss -K)",
            network_attempts.try_reset,
            "needs a kernel with CONFIG_INET_DIAG_DESTROY",
            required=False,
        ),
        _attempt(
            "faults on the wire (TPROXY)",
            network_attempts.try_tap,
            "modprobe -a nft_tproxy nft_ct; needs CONFIG_IP_MULTIPLE_TABLES",
            required=False,
        ),
    ]


def _essentials() -> list[Capability]:
    root = os.geteuid() == 0
    findings = [
        Capability(
            "root",
            root,
            "running as root" if root else "not running as root",
            "" if root else "run it with sudo",
        )
    ]
    for tool, package in _TOOLS.items():
        path = shutil.which(tool)
        off_path = path is None and shutil.which(tool, path=_SYSTEM_PATH)
        detail = f"{tool} is not on PATH" if off_path else f"{tool} is not installed"
        remedy = f"PATH=$PATH:{_SYSTEM_PATH}" if off_path else f"apt-get install {package}"
        findings.append(Capability(tool, path is not None, path or detail, "" if path else remedy))
    if root:
        state_folder().mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(state_folder()).free
        enough = free >= _SPACE_MIN
        remedy = "" if enough else "free some space, or set CHAOSKIT_STATE to a folder on a larger disk"
        findings.append(Capability("disk space", enough, f"{free / 2**30:.1f} GiB free in {state_folder()}", remedy))
    return findings


def _attempt(capability: str, attempt: Callable[[], str], remedy: str, *, required: bool = True) -> Capability:
    try:
        return Capability(capability, True, attempt(), required=required)
    except (OSError, subprocess.SubprocessError, ChaoskitError) as error:
        return Capability(capability, False, _reason(error), remedy, required)


def _reason(error: Exception) -> str:
    """Return why an attempt failed, on one line: the last one that a program printed is about its error."""
    said = getattr(error, "stderr", None) or ""
    text = said.decode(errors="replace") if isinstance(said, bytes) else said
    if lines := [line.strip() for line in text.splitlines() if line.strip()]:
        return lines[-1]
    match error:
        case subprocess.CalledProcessError():
            return f"exit status {error.returncode}"
        case subprocess.TimeoutExpired():
            return f"no result within {error.timeout:.0f} s"
    return " ".join(str(error).split())


def _in_namespaces(script: str, *arguments: str) -> str:
    argv = [
        "unshare",
        "--net",
        "--mount",
        "--uts",
        "--ipc",
        "--pid",
        "--fork",
        "--kill-child",
        "sh",
        "-euc",
        script,
        "try",
    ]
    return subprocess.run([*argv, *arguments], text=True, capture_output=True, check=True, timeout=20).stdout.strip()


def _try_namespaces() -> str:
    script = """
        mount --make-rprivate /; mkdir "$1/u" "$1/w" "$1/r"
        mount -t overlay overlay -o "lowerdir=/,upperdir=$1/u,workdir=$1/w" "$1/r"; chroot "$1/r" true
    """
    with tempfile.TemporaryDirectory(dir=state_folder()) as folder:
        _in_namespaces(script, folder)
    return "created and entered"


def _try_power_cut(filesystem: str) -> str:
    """Cut the power of a scratch disk in a separate mount namespace and read what it kept."""
    script = """
        mount --make-rprivate /; mkdir -p "$1/mnt"; truncate -s 320M "$1/disk"; mkfs.$2 -q "$1/disk"
        mount -t $2 -o loop "$1/disk" "$1/mnt"; cut=$("$3" -m clusters.hosts.canary "$1/mnt"); umount "$1/mnt"
        mount -t $2 -o loop "$1/disk" "$1/mnt"; "$3" -m clusters.hosts.canary "$1/mnt" "$cut"
    """
    with tempfile.TemporaryDirectory(dir=state_folder()) as folder:
        return _in_namespaces(script, folder, filesystem, sys.executable)
