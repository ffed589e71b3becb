"""Proof of a power cut; a cut that had little to lose is a doubt of the run, not a failure."""

from __future__ import annotations

from chaoskit.contract.faults.nemesis import Strike
from chaoskit.contract.hosts.host import DoubtfulCut, PowerSwitch, ServiceHost


def prove_cut(host: ServiceHost, strike: Strike) -> str:
    """Return evidence, after a boot, that the last cut of a host lost unsynced data and kept synced data.

    Raises:
        HostError: it did not, and nothing else that happened explains it.
    """
    try:
        evidence = host.power(PowerSwitch).prove_cut()
    except DoubtfulCut as cut:
        for doubt in cut.doubts:
            strike.doubt(doubt)
        evidence = str(cut)
    return f"{host.name}: {evidence}"
