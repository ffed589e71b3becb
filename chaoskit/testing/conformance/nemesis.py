"""Conformance suite for nemeses."""

from __future__ import annotations

from collections.abc import Callable

from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Damage
from chaoskit.contract.installed import nemesis as installed
from chaoskit.scenario.model import OF_KINDS_TOO, FaultSpec, KindChoice
from chaoskit.testing.conformance.wants import Wants

FAMILIES = ("process", "network", "wire", "disk", "clock", "client", "membership")


def check_nemesis(nemesis: str | Nemesis, make_strike: Callable[[Nemesis], Strike] | None = None) -> None:
    """Check a nemesis.

    Args:
        nemesis: the nemesis, or the name of its entry point.
        make_strike: creates a strike on real targets. If given, the fault is injected, proved, healed twice (healing
            must be idempotent) and proved healed; a fault that was not injected must not be proved.

    Raises:
        AssertionError: lists what is missing.
    """
    instance = installed(nemesis, "nemesis") if isinstance(nemesis, str) else nemesis
    with Wants(f"nemesis {nemesis if isinstance(nemesis, str) else type(nemesis).__name__}") as wants:
        _check_declarations(instance, wants)
        if make_strike is not None:
            _check_fault(instance, make_strike, wants)


def _check_declarations(nemesis: Nemesis, wants: Wants) -> None:
    wants.that(
        Nemesis in type(nemesis).__mro__, "its class does not inherit from chaoskit.contract.faults.nemesis.Nemesis"
    )
    if not wants.attributes(nemesis, "summary", "family", "hits", "parameters", "inject", "verify", "heal"):
        return
    wants.attributes(
        nemesis,
        "verify_healed",
        "damage",
        "occupies",
        "renews",
        "lasts",
        "restores",
        "host_powers",
        "disk_powers",
        "service_powers",
    )
    wants.that(nemesis.summary and "\n" not in nemesis.summary, "`summary` is not one line")
    wants.that(nemesis.family in FAMILIES, f"`family` is not one of {', '.join(FAMILIES)}")
    wants.that(nemesis.hits in ("hosts", "clients"), "`hits` is neither hosts nor clients")
    wants.that(type(nemesis).__doc__, "its class has no docstring, which `chaoskit nemeses KIND` prints")
    wants.options(nemesis.parameters, "parameters")
    wants.powers((*nemesis.host_powers, *nemesis.disk_powers, *nemesis.service_powers))
    ours = {field.alias or name for model in (FaultSpec, KindChoice) for name, field in model.model_fields.items()}
    for taken in (ours - OF_KINDS_TOO) & set(nemesis.parameters.model_fields):
        wants.that(False, f"its parameter `{taken}` is a reserved key of faults")
    with wants.step("damage"):
        damage = nemesis.damage(nemesis.parameters.model_construct())
        wants.that(isinstance(damage, Damage), "`damage` does not return a Damage")
    with wants.step("occupies"):
        parts = nemesis.occupies(nemesis.parameters.model_construct())
        wants.that(all(isinstance(part, HostPart) for part in parts), "`occupies` does not return Parts")
    wants.that(isinstance(nemesis.renews, bool), "`renews` is neither True nor False")


def _check_fault(nemesis: Nemesis, make_strike: Callable[[Nemesis], Strike], wants: Wants) -> None:
    with wants.step("a strike"):
        strike = make_strike(nemesis)
        try:
            with wants.step("inject, verify"):
                nemesis.inject(strike)
                wants.that(_proves(nemesis.verify(strike)), "`verify` returns no evidence")
        finally:
            with wants.step("heal, twice, verify_healed"):
                nemesis.heal(strike)
                nemesis.heal(strike)
                wants.that(_proves(nemesis.verify_healed(strike)), "`verify_healed` returns no evidence")
    not_made = make_strike(nemesis)
    try:
        evidence = nemesis.verify(not_made)
    except Exception:  # noqa: BLE001  # whatever it raises, it proves nothing
        return
    finally:
        with wants.step("heal without a fault"):
            nemesis.heal(not_made)
    wants.that(False, f"`verify` proves a fault that was not injected: {evidence}")


def _proves(evidence: object) -> bool:
    return isinstance(evidence, Evidence) and bool(evidence.sentence)
