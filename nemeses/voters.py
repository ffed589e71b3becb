"""Who votes on a cluster's metadata: removed and added again under load."""

from __future__ import annotations

from dataclasses import dataclass, field

from chaoskit.base.waiting import wait_while
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import NemesisError, Strike
from chaoskit.contract.guarantees.act import Act
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.operating import Voting
from chaoskit.contract.systems.service import ServiceError
from nemeses.operated import Operated

_VOTED_WITHIN_S = 10


@dataclass(slots=True)
class _Removed:
    """The hosts that were, or may have been, removed from the voters."""

    voters: list[ServiceHost] = field(default_factory=list)


class RemoveVoter(Operated):
    """Has the others vote on the metadata without the hosts, whose processes go on; healing adds them again."""

    summary = "remove the hosts' controllers from those that vote on the metadata; add them again afterwards"
    does = Act.NONE
    delays = False
    service_powers = (Voting,)

    def inject(self, strike: Strike) -> None:
        power = strike.service.power(Voting)
        voters = power.voters()
        if others := [host.name for host in strike.hosts if host.name not in voters]:
            raise NemesisError(f"no voters: {', '.join(others)}")
        for host in strike.hosts:
            strike.kept(_Removed).voters.append(host)
            power.remove_voter(host)

    def verify(self, strike: Strike) -> Evidence:
        power, voters = strike.service.power(Voting), list[str]()

        def left() -> str:
            """Look once: while the voters elect a new leader, nobody can tell who they are."""
            try:
                voters[:] = power.voters()
            except ServiceError as error:
                return str(error)
            return ", ".join(host.name for host in strike.hosts if host.name in voters)

        if why := wait_while(left, _VOTED_WITHIN_S):
            raise NemesisError(f"still voting: {why}")
        return Evidence(f"{', '.join(voters)} vote without {strike.names}")

    def heal(self, strike: Strike) -> None:
        for host in strike.kept(_Removed).voters:
            strike.service.power(Voting).add_voter(host)

    def verify_healed(self, strike: Strike) -> Evidence:
        voters = strike.service.power(Voting).voters()
        if missing := [host.name for host in strike.kept(_Removed).voters if host.name not in voters]:
            raise NemesisError(f"not voting again: {', '.join(missing)}")
        return Evidence(f"{', '.join(voters)} vote")
