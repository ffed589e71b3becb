"""Faults by commands of the user's, on real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, cast

import pytest

from chaoskit.contract.faults.nemesis import NemesisError, Strike
from chaoskit.contract.guarantees.act import Damage
from chaoskit.contract.systems.node import Node
from nemeses.command import CommandOptions, UserCommand

_NODES = [Node("n1", "k1:9092", "101"), Node("n2", "k2:9092", "102")]


def _strike(folder: Path, **given: Any) -> Strike:
    marked = f'{folder}/"$CHAOSKIT_NODE"'
    commands = {
        "do": f"echo $CHAOSKIT_HOST $CHAOSKIT_ADDRESS > {marked}",
        "verify": f"cat {marked}",
        "undo": f"rm -f {marked}",
        "verify_undone": f"test ! -e {marked}",
        "timeout": "20s",
    }
    return Strike(
        name="0-command",
        hosts=(),
        nodes=_NODES,
        clients=(),
        service=cast("Any", None),
        lab=(),
        parameters=CommandOptions.model_validate({**commands, **given}),
        seed=1,
        resolve=lambda _: [],
    )


def test_each_target_has_its_command_and_its_proof(tmp_path: Path) -> None:
    strike, nemesis = _strike(tmp_path), UserCommand()

    nemesis.inject(strike)
    proof = nemesis.verify(strike).sentence
    nemesis.heal(strike)
    nemesis.heal(strike)
    healed = nemesis.verify_healed(strike).sentence

    assert proof == "verify of n1 succeeded: n1 k1:9092; verify of n2 succeeded: n2 k2:9092"
    assert healed == "verify_undone of n1 succeeded; verify_undone of n2 succeeded"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"do": "echo no such pod >&2; exit 3"}, "do of n[12]: exit status 3: no such pod"),
        ({"do": ["/no/such/tool"]}, "do of n[12]: /no/such/tool: No such file"),
        ({"do": "sleep 60", "timeout": "2s"}, r"do of n[12]: did not end within 2 s and was killed"),
    ],
)
def test_a_command_that_fails_is_told(tmp_path: Path, given: dict[str, Any], why: str) -> None:
    strike = _strike(tmp_path, **given)

    with pytest.raises(NemesisError, match=why):
        UserCommand().inject(strike)
    UserCommand().heal(strike)


def test_a_fault_that_is_not_there_is_not_proved(tmp_path: Path) -> None:
    patient, hasty = _strike(tmp_path, do="true"), _strike(tmp_path, timeout="2s")
    UserCommand().inject(patient)

    with pytest.raises(NemesisError, match="verify of n1: exit status 1"):
        UserCommand().verify(hasty)
    UserCommand().heal(patient)


def test_the_fault_is_undone_if_the_harness_is_killed(tmp_path: Path) -> None:
    program = (
        "import sys, time\nfrom pathlib import Path\n"
        "from tests.unit.nemeses.test_command import _strike\nfrom nemeses.command import UserCommand\n"
        "UserCommand().inject(_strike(Path(sys.argv[1])))\nprint('injected', flush=True)\ntime.sleep(60)\n"
    )
    harness = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, start_new_session=True
    )
    assert harness.stdout is not None
    assert harness.stdout.readline() == b"injected\n"
    assert len(list(tmp_path.iterdir())) == len(_NODES)

    os.killpg(harness.pid, signal.SIGKILL)
    harness.wait()
    harness.stdout.close()

    _await_empty(tmp_path)


def _await_empty(folder: Path, within_s: float = 30) -> None:
    deadline = time.monotonic() + within_s
    while left := list(folder.iterdir()):
        assert time.monotonic() < deadline, left
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("given", "damage", "abrupt"),
    [({}, Damage.NONE, False), ({"abrupt": True}, Damage.NONE, True), ({"damage": "forgets"}, Damage.FORGETS, True)],
)
def test_its_damage_is_as_the_user_says(tmp_path: Path, given: dict[str, Any], damage: Damage, abrupt: bool) -> None:
    options = _strike(tmp_path, **given).parameters

    assert (UserCommand().damage(options), UserCommand().is_abrupt(options)) == (damage, abrupt)
