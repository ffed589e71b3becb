"""What operators order of Kafka's own tools, by what brokers tell; real clusters: `kafka/fewer-replicas` and others."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any, cast

import pytest

from chaoskit.contract.hosts.host import ServiceHost
from chaoskit.contract.systems.service import ServiceError
from clusters.kafka.operate.directories import KafkaDirectories
from clusters.kafka.operate.groups import KafkaGroups
from clusters.kafka.operate.operator import Assignment, KafkaOperator
from clusters.kafka.operate.tools import KafkaTools
from clusters.kafka.operate.voters import KafkaVoters

HOSTS = [cast("ServiceHost", SimpleNamespace(name=f"n{node}", address=f"10.0.0.{node}")) for node in (1, 2, 3)]
FOLDERS = ["/disks/one/kafka", "/disks/two/kafka"]


class PaperTools(KafkaTools):
    """Stands for the command line tools: does at once what a plan asks for."""

    def __init__(self, assignment: Assignment) -> None:
        super().__init__(HOSTS, "4.4.0", lambda _: True)
        self.assignment = assignment
        self.stored = dict.fromkeys(assignment, FOLDERS[0])
        self.plans: list[dict[str, Any]] = []

    def run(self, program: str, *arguments: str, plan: Any = None, on: ServiceHost | None = None) -> str:
        if program.endswith("LogDirsCommand"):
            return f"Received log directory information from brokers 1\n{json.dumps(self._described())}\n"
        self.plans += plan["partitions"]
        for move in plan["partitions"]:
            partition = move["topic"], move["partition"]
            self.assignment[partition] = list(move["replicas"])
            self.stored[partition] = next((folder for folder in move.get("log_dirs", ()) if folder != "any"), "")
        return ""

    def list_topics(self, timeout: float) -> Any:
        topics: dict[str, Any] = {}
        for (topic, number), replicas in self.assignment.items():
            of_topic = topics.setdefault(topic, SimpleNamespace(partitions={}))
            of_topic.partitions[number] = SimpleNamespace(leader=replicas[0], replicas=replicas, isrs=replicas)
        return SimpleNamespace(topics=topics)

    def _described(self) -> dict[str, Any]:
        directories: list[dict[str, Any]] = [
            {
                "logDir": folder,
                "partitions": [
                    {"partition": f"{topic}-{number}", "isFuture": False}
                    for (topic, number), directory in self.stored.items()
                    if directory == folder
                ],
            }
            for folder in FOLDERS
        ]
        directories[0]["partitions"].append({"partition": "log-0-7", "isFuture": True})
        return {"version": 1, "brokers": [{"broker": 1, "logDirs": directories}]}


def _operator(assignment: Assignment) -> tuple[PaperTools, KafkaOperator]:
    tools = PaperTools(assignment)
    return tools, KafkaOperator(HOSTS, cast("Any", tools), tools)


def test_replicas_are_removed_without_replacement_and_added_again() -> None:
    tools, operator = _operator({("log-0", 0): [1, 2, 3], ("log-0", 1): [2, 3]})

    operator.shed(HOSTS[0])
    assert tools.assignment == {("log-0", 0): [2, 3], ("log-0", 1): [2, 3]}
    operator.refill(HOSTS[0])

    assert tools.assignment == {("log-0", 0): [1, 2, 3], ("log-0", 1): [2, 3]}
    assert [plan["replicas"] for plan in tools.plans] == [[2, 3], [1, 2, 3]]


def test_of_hosts_that_shed_one_after_the_other_all_come_back() -> None:
    tools, operator = _operator({("log-0", 0): [1, 2, 3]})

    operator.shed(HOSTS[0])
    operator.shed(HOSTS[1])
    assert tools.assignment == {("log-0", 0): [3]}
    operator.refill(HOSTS[0])
    assert tools.assignment == {("log-0", 0): [1, 3]}, "the other is not back before its turn"
    operator.refill(HOSTS[1])

    assert sorted(tools.assignment["log-0", 0]) == [1, 2, 3]


def test_who_stands_in_for_another_gives_its_replica_on() -> None:
    tools, operator = _operator({("log-0", 0): [1]})

    operator.drain(HOSTS[0])
    (first,) = tools.assignment["log-0", 0]
    operator.drain(HOSTS[first - 1])
    (second,) = tools.assignment["log-0", 0]
    assert {first, second} == {2, 3}
    operator.refill(HOSTS[0])
    operator.refill(HOSTS[first - 1])

    assert tools.assignment == {("log-0", 0): [1]}


def test_the_only_replica_is_not_removed() -> None:
    tools, operator = _operator({("log-0", 0): [2], ("log-0", 1): [1]})

    with pytest.raises(ServiceError, match="log-0/1 has its only replica on n1"):
        operator.shed(HOSTS[0])
    assert not tools.plans


def test_replicas_move_to_the_next_log_directory_of_their_broker() -> None:
    tools, operator = _operator({("log-0", 0): [1, 2], ("a-b", 1): [2, 1]})
    directories = KafkaDirectories(HOSTS, tools, operator.assignment, lambda _: FOLDERS)

    directories.move_between_directories(HOSTS[0])

    assert [(plan["replicas"], plan["log_dirs"]) for plan in tools.plans] == [
        ([1, 2], [FOLDERS[1], "any"]),
        ([2, 1], ["any", FOLDERS[1]]),
    ]
    assert directories.directories_on(HOSTS[0]) == {"log-0/0": FOLDERS[1], "a-b/1": FOLDERS[1]}


class PaperQuorum:
    """Stands for `kafka-metadata-quorum`: takes a new voter once it has caught up."""

    def __init__(self, *nodes: int) -> None:
        self.nodes = list(nodes)
        self.behind = 2
        self.ran: list[str] = []

    def run(self, _: str, *arguments: str, on: Any = None) -> str:
        self.ran.append(" ".join(arguments))
        if arguments[0] == "remove-controller":
            self.nodes.remove(int(arguments[2]))
        if arguments[-1] == "add-controller":
            self.behind -= 1
            if self.behind:
                raise ServiceError("the controller has not caught up")
            self.nodes.append(int(on.name[1:]))
        voters = [{"id": node, "directoryId": f"disk-{node}", "endpoints": []} for node in self.nodes]
        return f"ClusterId:      some\nCurrentVoters:  {json.dumps(voters)}\nCurrentObservers: []\n"


def test_a_voter_is_removed_by_its_disk_and_added_once_it_has_caught_up() -> None:
    quorum = PaperQuorum(1, 2, 3)
    voters = KafkaVoters(HOSTS, cast("KafkaTools", quorum), lambda host: f"disk-{host.name[1:]}")

    voters.remove_voter(HOSTS[1])
    assert voters.voters() == ("n1", "n3")
    assert "remove-controller --controller-id 2 --controller-directory-id disk-2" in quorum.ran
    voters.add_voter(HOSTS[1])
    voters.add_voter(HOSTS[1])

    assert voters.voters() == ("n1", "n3", "n2"), "once"


def test_who_does_not_vote_cannot_be_removed() -> None:
    voters = KafkaVoters(HOSTS, cast("KafkaTools", PaperQuorum(1, 3)), lambda _: "")

    with pytest.raises(ServiceError, match="n2 does not vote"):
        voters.remove_voter(HOSTS[1])


def test_a_new_disk_does_not_vote_in_place_of_the_old_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clusters.kafka.operate.voters.TIMEOUT_S", 0)
    quorum = PaperQuorum(1, 2, 3)
    voters = KafkaVoters(HOSTS, cast("KafkaTools", quorum), lambda host: "new" if host.name == "n2" else "")

    assert voters.voters() == ("n1", "n3")
    with pytest.raises(ServiceError, match="n2 did not become a voter"):
        voters.add_voter(HOSTS[1])
    assert "remove-controller --controller-id 2 --controller-directory-id disk-2" in quorum.ran


DESCRIBED = """
Consumer group 'chaoskit' has no active members.

GROUP     TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST  CLIENT-ID
chaoskit  log-0  1          1500            1600            100  -            -     -
chaoskit  log-0  0          -               1500            -    -            -     -
"""
RESET = """
GROUP     TOPIC  PARTITION  NEW-OFFSET
chaoskit  log-0  1          0
"""


def test_positions_of_a_group_are_read_from_the_tables_of_the_tool() -> None:
    ran: list[tuple[str, ...]] = []
    plans: list[str] = []
    printed = {"--describe": DESCRIBED, "--reset-offsets": RESET}

    def run(_: str, *arguments: str, plan: str | None = None) -> str:
        ran.append(arguments)
        plans.append(plan or "")
        return printed[arguments[0]]

    groups = KafkaGroups(cast("KafkaTools", SimpleNamespace(run=run)), lambda: "chaoskit")

    assert groups.committed() == {("log-0", 1): 1500}
    assert groups.aim("earliest") == {("log-0", 1): 0}
    assert groups.aim(-20) == {("log-0", 1): 0}
    groups.commit({("log-0", 1): 0, ("log-0", 2): 7})
    assert [arguments[4:] for arguments in ran[1:3]] == [
        ("--to-earliest", "--dry-run"),
        ("--shift-by", "-20", "--dry-run"),
    ]
    assert (ran[3][3:], plans[3]) == (("--from-file", "PLAN", "--execute"), "log-0,1,0\nlog-0,2,7\n")


NOT_EMPTY = "Error: Assignments can only be reset if the group 'chaoskit' is inactive"


@pytest.mark.parametrize(
    "printed",
    ["Error: the group 'chaoskit' does not exist.", f"\n{NOT_EMPTY}\n\nGROUP TOPIC PARTITION NEW-OFFSET\n"],
)
def test_what_the_tool_refuses_is_an_error(printed: str) -> None:
    groups = KafkaGroups(cast("KafkaTools", SimpleNamespace(run=lambda *_, **__: printed)), lambda: "chaoskit")

    with pytest.raises(ServiceError, match="kafka-consumer-groups, group chaoskit"):
        groups.aim("earliest")
