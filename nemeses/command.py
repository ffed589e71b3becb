"""Faults by commands of the user's: `kubectl`, a cloud's command line, a vendor's tool."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel, ConfigDict

from chaoskit.base.parallel import on_each
from chaoskit.base.quantities import SECOND, Duration
from chaoskit.contract.faults.evidence import Evidence
from chaoskit.contract.faults.nemesis import Nemesis, NemesisError, Strike
from chaoskit.contract.faults.part import HostPart
from chaoskit.contract.guarantees.act import Act, Damage
from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.options import Command
from chaoskit.contract.systems.node import Node

_AGAIN_S = 0.5
_OUTPUT_MAX = 300
"""How much of a command's output is told, in letters."""

_DAMAGE = {
    "none": Damage.NONE,
    "forgets": Damage.FORGETS,
    "destroys": Damage.DESTROYS,
    "corrupts": Damage.CORRUPTS,
}
_SWITCH = 'read -r _ || exec "$@"'
"""The dead-man's switch: it undoes the fault when its pipe is closed, because the harness died."""


@dataclass(slots=True)
class _Switches:
    """The dead-man's switches that are armed."""

    armed: list[subprocess.Popen[bytes]] = field(default_factory=list)


class CommandOptions(BaseModel):
    """Parameters of a fault by commands.

    Each is run once for each target, on the harness's machine, with `CHAOSKIT_HOST` (its name), `CHAOSKIT_ADDRESS` (its
    address), and `CHAOSKIT_NODE` (its id in a system that runs already) in the environment.

    Attributes:
        do: causes the fault.
        verify: exits with 0 once the fault has taken effect; it is tried again until `timeout`.
        undo: undoes it. It must do no harm if the fault is not there.
        verify_undone: exits with 0 once it is undone; it is tried again until `timeout`.
        timeout: how long each of them may take.
        environment: further environment variables.
        damage: what it may do to data: nothing; `forgets` (what was not synced), `destroys` (what was), `corrupts`.
        abrupt: whether processes end without a shutdown.
        occupies: the parts of a host that no other fault may occupy meanwhile, such as `processes`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    do: Command
    verify: Command
    undo: Command
    verify_undone: Command
    timeout: Duration = 60 * SECOND
    environment: dict[str, str] = {}
    damage: Literal["none", "forgets", "destroys", "corrupts"] = "none"
    abrupt: bool = False
    occupies: list[HostPart] = []


class UserCommand(Nemesis):
    """Runs commands of the user's; each step is proved by another command. Undone also if the harness dies."""

    summary = "run your own commands to inject a fault, prove it, undo it and prove that"
    family = "process"
    does = Act.SILENCES | Act.BREAKS
    damages_until_healed = True
    parameters = CommandOptions
    on_hosts = False

    def damage(self, parameters: CommandOptions) -> Damage:
        return _DAMAGE[parameters.damage]

    def acts(self, parameters: CommandOptions) -> Act:
        return self.does | (Act.ENDS if self.is_abrupt(parameters) else Act.NONE)

    def is_abrupt(self, parameters: CommandOptions) -> bool:
        return parameters.abrupt or bool(self.damage(parameters))

    def occupies(self, parameters: CommandOptions) -> Collection[HostPart]:
        return parameters.occupies

    def renew(self, strike: Strike, booted: Sequence[ServiceHost]) -> None:
        names = {host.name for host in booted}
        again = [node for node in strike.nodes if node.name in names]
        on_each(again, lambda node: _do_unless_done(node, strike.parameters))

    def inject(self, strike: Strike) -> None:
        options = strike.parameters
        strike.kept(_Switches).armed += [_arm(node, options) for node in strike.nodes]
        on_each(strike.nodes, lambda node: _run("do", options.do, node, options))

    def verify(self, strike: Strike) -> Evidence:
        options = strike.parameters
        return Evidence("; ".join(on_each(strike.nodes, lambda node: _await("verify", options.verify, node, options))))

    def heal(self, strike: Strike) -> None:
        options = strike.parameters
        on_each(strike.nodes, lambda node: _run("undo", options.undo, node, options))
        armed = strike.kept(_Switches).armed
        while armed:
            _disarm(armed.pop())

    def verify_healed(self, strike: Strike) -> Evidence:
        options = strike.parameters
        return Evidence(
            "; ".join(on_each(strike.nodes, lambda node: _await("verify_undone", options.verify_undone, node, options)))
        )


def _environment(node: Node, options: CommandOptions) -> dict[str, str]:
    known = {"CHAOSKIT_HOST": node.name, "CHAOSKIT_ADDRESS": node.address, "CHAOSKIT_NODE": node.id}
    return {**os.environ, **known, **options.environment}


def _arm(node: Node, options: CommandOptions) -> subprocess.Popen[bytes]:
    """Start the dead-man's switch in a session of its own, so that what ends the harness does not end it."""
    return subprocess.Popen(
        ["sh", "-c", _SWITCH, "switch", *options.undo],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=_environment(node, options),
        start_new_session=True,
    )


def _disarm(switch: subprocess.Popen[bytes]) -> None:
    assert switch.stdin is not None
    switch.stdin.write(b"undone\n")
    switch.stdin.close()
    switch.wait()


def _run(step: str, command: list[str], node: Node, options: CommandOptions) -> str:
    """Run a command; return the end of its output.

    Raises:
        NemesisError: it failed, took too long, or does not exist.
    """
    step_name = f"{step} of {node.name}"
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=_environment(node, options),
            start_new_session=True,
        )
    except OSError as error:
        raise NemesisError(f"{step_name}: {command[0]}: {error.strerror}") from error
    try:
        said, _ = process.communicate(timeout=options.timeout / 1e9)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise NemesisError(f"{step_name}: did not end within {options.timeout / 1e9:g} s and was killed") from None
    if process.returncode != 0:
        raise NemesisError(f"{step_name}: exit status {process.returncode}: {said.strip()[-_OUTPUT_MAX:]}")
    return said.strip()[-_OUTPUT_MAX:]


def _do_unless_done(node: Node, options: CommandOptions) -> None:
    try:
        _run("verify", options.verify, node, options)
    except NemesisError:
        _run("do", options.do, node, options)


def _await(step: str, command: list[str], node: Node, options: CommandOptions) -> str:
    """Run a command again and again until it succeeds; return evidence. Raises like `_run`."""
    deadline = time.monotonic() + options.timeout / 1e9
    while True:
        try:
            said = _run(step, command, node, options)
        except NemesisError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_AGAIN_S)
        else:
            return f"{step} of {node.name} succeeded{f': {said}' if said else ''}"
