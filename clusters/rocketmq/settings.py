"""RocketMQ's options and configuration files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from chaoskit.base.quantities import Size
from chaoskit.contract.guarantees.setting import Setting
from chaoskit.contract.systems.wire import Wire
from clusters.common.java import PRODUCTION, Jvm
from clusters.common.properties import Scalar, properties
from clusters.rocketmq import wire

NAME_SERVER, BROKER, PROXY = "namesrv", "broker", "proxy"
"""Names of the services, in start order."""

NAME_SERVER_PORT, BROKER_PORT, CONTROLLER_PORT = 9876, 10911, 9878
PROXY_PORT, PROXY_REMOTING_PORT = 8081, 8080
RAFT_PORT, RAFT_CONTROLLER_PORT = 9880, 9770
"""Ports of controllers of the type jRaft: among each other, and for brokers."""

WIRE = Wire(
    decoders=dict.fromkeys(
        (NAME_SERVER_PORT, BROKER_PORT, CONTROLLER_PORT, RAFT_CONTROLLER_PORT), "clusters.rocketmq.wire:RemotingDecoder"
    ),
    messages=wire.MESSAGES,
    named=False,
    refusable=wire.REFUSABLE,
)
"""What proxies are asked does not pass a tap."""

CLUSTER_NAME = "chaoskit"
DATA_FOLDERS = ("rocketmq", "controller", "namesrv")
"""Folders on the data disk: of the broker, the controller and the name server."""

FOLDER = "/etc/rocketmq"
FILES = {
    NAME_SERVER: f"{FOLDER}/namesrv.conf",
    BROKER: f"{FOLDER}/broker.conf",
    PROXY: f"{FOLDER}/conf/rmq-proxy.json",
}
LOGGING = f"{FOLDER}/logback.xml"
LOGBACK = """\
<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %p %m \\(%c{0}\\)%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="out"/></root>
</configuration>
"""

PRODUCTION_JVM = (
    "-XX:+UseG1GC",
    "-XX:G1HeapRegionSize=16m",
    "-XX:G1ReservePercent=25",
    "-XX:InitiatingHeapOccupancyPercent=30",
    "-XX:SoftRefLRUPolicyMSPerMB=0",
    "-XX:-UseBiasedLocking",
)
"""The flags of RocketMQ's bin/runbroker.sh for Java 9 and later, without those of its log files and its heap."""


def _of_brokers(name: str, default: bool | int | str) -> Setting:
    return Setting(name, default, reporter="broker")


FLUSH = _of_brokers("flushDiskType", "ASYNC_FLUSH")
ALL_ACK = _of_brokers("allAckInSyncStateSet", default=False)
LEAST_IN_SYNC = _of_brokers("minInSyncReplicas", 1)
COPIES = _of_brokers("inSyncReplicas", 1)
LAG_MS = _of_brokers("haMaxTimeSlaveNotCatchup", 15_000)
"""How long a slave may not have caught up and stay in the sync-state set."""

ASKED_MS = _of_brokers("transactionTimeOut", 6_000)
"""How old a half message is when a broker asks how its transaction ended; the default is ours."""

ASKED_AGAIN_MS = _of_brokers("transactionCheckInterval", 5_000)
"""How often a broker looks for such messages; the default is ours."""

NOTED_MS = _of_brokers("transactionOpBatchInterval", 3_000)

TIMER_FLUSH_MS = _of_brokers("timerFlushIntervalMs", 1_000)
"""How often a broker writes which delayed messages have come to light."""

TIMER_PRECISION_MS = _of_brokers("timerPrecisionMs", 1_000)
"""How late a delayed message may come to light."""

OFFSETS_FLUSH_MS = _of_brokers("flushConsumerOffsetInterval", 5_000)
"""How often a broker writes how far groups have popped."""

SETTINGS = (
    FLUSH, ALL_ACK, LEAST_IN_SYNC, COPIES, LAG_MS, ASKED_MS, ASKED_AGAIN_MS, NOTED_MS, TIMER_FLUSH_MS,
    TIMER_PRECISION_MS, OFFSETS_FLUSH_MS,
)  # fmt: skip
"""The settings from which RocketMQ's guarantees follow."""

_MIB = 2**20
_HEAPS = {
    NAME_SERVER: (128 * _MIB, 512 * _MIB),
    BROKER: (384 * _MIB, 2048 * _MIB),
    PROXY: (192 * _MIB, 1024 * _MIB),
}

Mode = Literal["single", "master-slave", "controller"]


class RocketOptions(BaseModel):
    """The options of a RocketMQ cluster, in addition to its hosts. Each host has a name server and a broker; the last
    ones have a proxy.

    Attributes:
        version: release number of RocketMQ, 5.1.0 or later.
        mode: `single`: each broker is a master, and its queues have one copy. `master-slave`: the first broker is the
            master of all queues, for ever, and the others copy them. `controller`: controllers, which run in the name
            servers, elect the master.
        proxies: number of hosts with a proxy, by which consumers pop messages of queues.
        config: settings of brokers, name servers and controllers by their own names. `brokerRole` is the master's.
        config_unchecked: names in `config` that are accepted although the release does not know them.
        heap: JVM heap of a broker, which uses up to the same amount again outside of it; default: 384 MiB, and 2 GiB
            with `jvm: production`.
        jvm: `production`, further JVM options, or both; see `clusters.common.java`.
        clients: whose publishers and consumers the workload `queue` has: RocketMQ's own in Java, or in Python
            (rocketmq-python-client).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    version: str = "5.5.0"
    mode: Mode = "master-slave"
    proxies: int = Field(default=0, ge=0)
    config: dict[str, Scalar] = {}
    config_unchecked: list[str] = []
    heap: Size | None = None
    jvm: Jvm = []
    clients: Literal["java", "python"] = "java"

    @property
    def elects(self) -> bool:
        """Whether controllers elect masters."""
        return self.mode == "controller"

    def heap_of(self, service: str) -> int:
        """Return the heap of a process, bytes."""
        given = self.heap if service == BROKER else None
        return given or _HEAPS[service][PRODUCTION in self.jvm]

    def services(self, hosts: int, index: int) -> tuple[str, ...]:
        """Return the services of the host at `index`, in start order."""
        return (NAME_SERVER, BROKER, PROXY) if index >= hosts - self.proxies else (NAME_SERVER, BROKER)

    def groups(self, hosts: int) -> list[range]:
        """Return the brokers, by index of their hosts, that share a name and the queues of that name."""
        return [range(index, index + 1) for index in range(hosts)] if self.mode == "single" else [range(hosts)]

    def group_of(self, hosts: int, index: int) -> int:
        """Return the number of the group of a broker, by index of its host."""
        return index if self.mode == "single" else 0


def broker_name(group: int) -> str:
    """Return the name that the brokers of a group share."""
    return f"broker-{group}"


def servers(addresses: Sequence[str], port: int, *, between: str = ";") -> str:
    """Return the list of addresses and ports of servers."""
    return between.join(f"{address}:{port}" for address in addresses)


def controllers(options: RocketOptions, addresses: Sequence[str]) -> list[tuple[str, int]]:
    """Return the address and port of each controller, for brokers and operators."""
    port = RAFT_CONTROLLER_PORT if _is_raft(options) else CONTROLLER_PORT
    return [(address, port) for address in addresses]


def namesrv_conf(options: RocketOptions, addresses: Sequence[str], index: int, data_dir: str) -> str:
    """Return the file of the name server, and of the controller in it, of the host at `index`."""
    return properties(
        {"scanNotActiveBrokerInterval": 1000, "mappedFileSize": 4 * _MIB},
        options.config,
        {
            "rocketmqHome": FOLDER,
            "listenPort": NAME_SERVER_PORT,
            "bindAddress": addresses[index],
            "kvConfigPath": f"{data_dir}/namesrv/kvConfig.json",
            **(_controller(options, addresses, index, data_dir) if options.elects else {}),
        },
    )


BOTH_COMPILERS = "-XX:TieredStopAtLevel=4"
"""A broker compares all 38 MB of its timer wheel byte by byte, each second (`TimerWheel.flush`): compiled by one
compiler only, that costs a fifth of a core."""


def broker_conf(options: RocketOptions, addresses: Sequence[str], index: int, data_dir: str) -> str:
    """Return the file of the broker of the host at `index`. After its start a broker spins for as long as its interval
    of writing metrics of transactions is (`TransactionMetricsFlushService.run`), which is 10 s by default."""
    group = options.group_of(len(addresses), index)
    place = index - options.groups(len(addresses))[group].start
    elected: dict[str, Scalar] = {
        "enableControllerMode": True,
        "controllerAddr": ";".join(f"{address}:{port}" for address, port in controllers(options, addresses)),
        "brokerId": -1,
        "brokerRole": "SLAVE",
    }
    fixed: dict[str, Scalar] = {"brokerId": place, **({"brokerRole": "SLAVE"} if place else {})}
    return properties(
        {
            "brokerRole": "ASYNC_MASTER",
            "mappedFileSizeCommitLog": 64 * _MIB,
            "controllerHeartBeatTimeoutMills": 3000,
            "transactionMetricFlushInterval": 1000,
            ASKED_AGAIN_MS.name: ASKED_AGAIN_MS.default,
        },
        options.config,
        {
            "rocketmqHome": FOLDER,
            "brokerClusterName": CLUSTER_NAME,
            "brokerName": broker_name(group),
            "brokerIP1": addresses[index],
            "brokerIP2": addresses[index],
            "bindAddress": addresses[index],
            "listenPort": BROKER_PORT,
            "namesrvAddr": servers(addresses, NAME_SERVER_PORT),
            "storePathRootDir": f"{data_dir}/rocketmq",
            "autoCreateTopicEnable": False,
            "autoCreateSubscriptionGroup": True,
            **(elected if options.elects else fixed),
        },
    )


def proxy_json(options: RocketOptions, addresses: Sequence[str], index: int) -> str:
    """Return the file of the proxy of the host at `index`."""
    config = {
        "rocketMQClusterName": CLUSTER_NAME,
        "namesrvAddr": servers(addresses, NAME_SERVER_PORT),
        "grpcServerPort": PROXY_PORT,
        "remotingListenPort": PROXY_REMOTING_PORT,
        "localServeAddr": addresses[index],
        "minInvisibleTimeMillsForRecv": 1000,
        "enableTopicMessageTypeCheck": True,
    }
    return json.dumps(config)


def asked_within_ms(options: RocketOptions) -> int:
    """Return within how many ms a broker has asked how a transaction ended, if nobody told it."""
    return ASKED_MS.number_of(options) + 2 * ASKED_AGAIN_MS.number_of(options)


def _is_raft(options: RocketOptions) -> bool:
    return str(options.config.get("controllerType")).lower() == "jraft"


def _controller(options: RocketOptions, addresses: Sequence[str], index: int, data_dir: str) -> Mapping[str, Scalar]:
    own: dict[str, Scalar] = {"enableControllerInNamesrv": True, "controllerStorePath": f"{data_dir}/controller"}
    if _is_raft(options):
        return {
            **own,
            "jRaftServerId": f"{addresses[index]}:{RAFT_PORT}",
            "jRaftInitConf": servers(addresses, RAFT_PORT, between=","),
            "jRaftControllerRPCAddr": servers(addresses, RAFT_CONTROLLER_PORT, between=","),
        }
    peers = (f"n{number}-{address}:{CONTROLLER_PORT}" for number, address in enumerate(addresses))
    return {
        **own,
        "controllerDLegerGroup": "controllers",
        "controllerDLegerPeers": ";".join(peers),
        "controllerDLegerSelfId": f"n{index}",
    }
