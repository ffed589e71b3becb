"""Every plug-in and every stranger is what it says: a line each, which the type checker reads.

Written by `python tests/unit/test_typing.py` from the entry points.
"""

from chaoskit.contract.attach import Attaching as chaoskit_contract_attach_Attaching
from chaoskit.contract.checker import Checker as chaoskit_contract_checker_Checker
from chaoskit.contract.checker import Settling as chaoskit_contract_checker_Settling
from chaoskit.contract.checker import Spanning as chaoskit_contract_checker_Spanning
from chaoskit.contract.client import LogClients as chaoskit_contract_client_LogClients
from chaoskit.contract.client import SeekingClients as chaoskit_contract_client_SeekingClients
from chaoskit.contract.client import SequencedClients as chaoskit_contract_client_SequencedClients
from chaoskit.contract.client import SubscribingClients as chaoskit_contract_client_SubscribingClients
from chaoskit.contract.client import TransactionalClients as chaoskit_contract_client_TransactionalClients
from chaoskit.contract.digesting import Digesting as chaoskit_contract_digesting_Digesting
from chaoskit.contract.feed import FeedClients as chaoskit_contract_feed_FeedClients
from chaoskit.contract.host import HostProvider as chaoskit_contract_host_HostProvider
from chaoskit.contract.ledger import LedgerClients as chaoskit_contract_ledger_LedgerClients
from chaoskit.contract.nemesis import Counting as chaoskit_contract_nemesis_Counting
from chaoskit.contract.nemesis import Nemesis as chaoskit_contract_nemesis_Nemesis
from chaoskit.contract.nemesis import Preceding as chaoskit_contract_nemesis_Preceding
from chaoskit.contract.nemesis import Preparing as chaoskit_contract_nemesis_Preparing
from chaoskit.contract.queue import QueueClients as chaoskit_contract_queue_QueueClients
from chaoskit.contract.synthesizer import Synthesizer as chaoskit_contract_synthesizer_Synthesizer
from chaoskit.contract.system import Apart as chaoskit_contract_system_Apart
from chaoskit.contract.system import Fetching as chaoskit_contract_system_Fetching
from chaoskit.contract.system import Imposing as chaoskit_contract_system_Imposing
from chaoskit.contract.system import Naming as chaoskit_contract_system_Naming
from chaoskit.contract.system import Positions as chaoskit_contract_system_Positions
from chaoskit.contract.system import Queues as chaoskit_contract_system_Queues
from chaoskit.contract.system import Rooted as chaoskit_contract_system_Rooted
from chaoskit.contract.system import System as chaoskit_contract_system_System
from chaoskit.contract.system import Typed as chaoskit_contract_system_Typed
from chaoskit.contract.system import Varied as chaoskit_contract_system_Varied
from chaoskit.contract.wire import Decoding as chaoskit_contract_wire_Decoding
from chaoskit.contract.workload import Measuring as chaoskit_contract_workload_Measuring
from chaoskit.contract.workload import SideTopics as chaoskit_contract_workload_SideTopics
from chaoskit.contract.workload import Workload as chaoskit_contract_workload_Workload
from checkers.ledger.ledgers import LedgerChecker as checkers_ledger_ledgers_LedgerChecker
from checkers.log.logs import LogChecker as checkers_log_logs_LogChecker
from checkers.pubsub.checker import PubSubChecker as checkers_pubsub_checker_PubSubChecker
from checkers.queue.queues import QueueChecker as checkers_queue_queues_QueueChecker
from checkers.subscription.groups import GroupChecker as checkers_subscription_groups_GroupChecker
from checkers.subscription.subscriptions import SubscriptionChecker as checkers_subscription_subscriptions_SubscriptionChecker
from checkers.synthetic.folder import LogSynthesizer as checkers_synthetic_folder_LogSynthesizer
from checkers.time.times import TimeChecker as checkers_time_times_TimeChecker
from checkers.transaction.transactions import TransactionChecker as checkers_transaction_transactions_TransactionChecker
from clusters.bookkeeper.client import BookKeeperClients as clusters_bookkeeper_client_BookKeeperClients
from clusters.bookkeeper.system import System as clusters_bookkeeper_system_System
from clusters.cyclonedds.client import CycloneClients as clusters_cyclonedds_client_CycloneClients
from clusters.cyclonedds.system import System as clusters_cyclonedds_system_System
from clusters.hosts.attached import AttachedProvider as clusters_hosts_attached_AttachedProvider
from clusters.hosts.lab import LocalProvider as clusters_hosts_lab_LocalProvider
from clusters.hosts.remote.provider import SshProvider as clusters_hosts_remote_provider_SshProvider
from clusters.kafka.client import KafkaClients as clusters_kafka_client_KafkaClients
from clusters.kafka.java.client import JavaClients as clusters_kafka_java_client_JavaClients
from clusters.kafka.system import System as clusters_kafka_system_System
from clusters.mosquitto.client import MqttClients as clusters_mosquitto_client_MqttClients
from clusters.mosquitto.system import System as clusters_mosquitto_system_System
from clusters.pulsar.client import PulsarClients as clusters_pulsar_client_PulsarClients
from clusters.pulsar.java.client import JavaClients as clusters_pulsar_java_client_JavaClients
from clusters.pulsar.system import System as clusters_pulsar_system_System
from clusters.rabbitmq.client import RabbitClients as clusters_rabbitmq_client_RabbitClients
from clusters.rabbitmq.system import System as clusters_rabbitmq_system_System
from clusters.rocketmq.client import RocketClients as clusters_rocketmq_client_RocketClients
from clusters.rocketmq.python.client import PythonClients as clusters_rocketmq_python_client_PythonClients
from clusters.rocketmq.system import System as clusters_rocketmq_system_System
from clusters.zenoh.client import ZenohClients as clusters_zenoh_client_ZenohClients
from clusters.zenoh.system import System as clusters_zenoh_system_System
from nemeses.clients import ClientCrash as nemeses_clients_ClientCrash
from nemeses.clients import ClientDisconnect as nemeses_clients_ClientDisconnect
from nemeses.clients import ClientHang as nemeses_clients_ClientHang
from nemeses.clients import ClientHijack as nemeses_clients_ClientHijack
from nemeses.clients import ClientPause as nemeses_clients_ClientPause
from nemeses.clock import ClockDrift as nemeses_clock_ClockDrift
from nemeses.clock import ClockJump as nemeses_clock_ClockJump
from nemeses.clock import ClockOffset as nemeses_clock_ClockOffset
from nemeses.clock import ClockStrobe as nemeses_clock_ClockStrobe
from nemeses.command import UserCommand as nemeses_command_UserCommand
from nemeses.disk.broken import DiskDead as nemeses_disk_broken_DiskDead
from nemeses.disk.broken import DiskReadOnly as nemeses_disk_broken_DiskReadOnly
from nemeses.disk.corruption import BitFlip as nemeses_disk_corruption_BitFlip
from nemeses.disk.corruption import Truncate as nemeses_disk_corruption_Truncate
from nemeses.disk.freeze import DiskFreeze as nemeses_disk_freeze_DiskFreeze
from nemeses.disk.full import DiskFull as nemeses_disk_full_DiskFull
from nemeses.disk.images import DiskWipe as nemeses_disk_images_DiskWipe
from nemeses.disk.images import Snapshot as nemeses_disk_images_Snapshot
from nemeses.disk.images import TimeTravel as nemeses_disk_images_TimeTravel
from nemeses.disk.lies import FsyncLies as nemeses_disk_lies_FsyncLies
from nemeses.disk.power import PowerCut as nemeses_disk_power_PowerCut
from nemeses.disk.program import DiskErrors as nemeses_disk_program_DiskErrors
from nemeses.disk.program import DiskProgram as nemeses_disk_program_DiskProgram
from nemeses.disk.slow import DiskSlow as nemeses_disk_slow_DiskSlow
from nemeses.membership import Decommission as nemeses_membership_Decommission
from nemeses.membership import ElectLeader as nemeses_membership_ElectLeader
from nemeses.membership import MigrateMetadata as nemeses_membership_MigrateMetadata
from nemeses.membership import Reassign as nemeses_membership_Reassign
from nemeses.membership import RemoveBroker as nemeses_membership_RemoveBroker
from nemeses.membership import RollingUpgrade as nemeses_membership_RollingUpgrade
from nemeses.network.bandwidth import Bandwidth as nemeses_network_bandwidth_Bandwidth
from nemeses.network.connections import HalfOpen as nemeses_network_connections_HalfOpen
from nemeses.network.connections import ResetConnections as nemeses_network_connections_ResetConnections
from nemeses.network.packets import PacketCorrupt as nemeses_network_packets_PacketCorrupt
from nemeses.network.packets import PacketDelay as nemeses_network_packets_PacketDelay
from nemeses.network.packets import PacketDuplicate as nemeses_network_packets_PacketDuplicate
from nemeses.network.packets import PacketLoss as nemeses_network_packets_PacketLoss
from nemeses.network.packets import PacketReorder as nemeses_network_packets_PacketReorder
from nemeses.network.partition import Partition as nemeses_network_partition_Partition
from nemeses.process import Kill as nemeses_process_Kill
from nemeses.process import Pause as nemeses_process_Pause
from nemeses.process import Restart as nemeses_process_Restart
from nemeses.process import RollingRestart as nemeses_process_RollingRestart
from nemeses.resources import CpuStarve as nemeses_resources_CpuStarve
from nemeses.resources import FileExhaustion as nemeses_resources_FileExhaustion
from nemeses.resources import MemoryPressure as nemeses_resources_MemoryPressure
from nemeses.stumbling import CrashLoop as nemeses_stumbling_CrashLoop
from nemeses.stumbling import Stall as nemeses_stumbling_Stall
from nemeses.stumbling import Zombie as nemeses_stumbling_Zombie
from nemeses.wire.fault import WireFault as nemeses_wire_fault_WireFault
from tinylog.client import Clients as tinylog_client_Clients
from tinylog.system import TinyLog as tinylog_system_TinyLog
from tinymesh.client import Clients as tinymesh_client_Clients
from tinymesh.system import TinyMesh as tinymesh_system_TinyMesh
from tinyqueue.checker import VanishedChecker as tinyqueue_checker_VanishedChecker
from tinyqueue.system import TinyQueue as tinyqueue_system_TinyQueue
from tinyqueue.workload import QueueWorkload as tinyqueue_workload_QueueWorkload
from workloads.dedup.workload import DedupWorkload as workloads_dedup_workload_DedupWorkload
from workloads.feed.firehose import FirehoseWorkload as workloads_feed_firehose_FirehoseWorkload
from workloads.feed.pingpong import PingPongWorkload as workloads_feed_pingpong_PingPongWorkload
from workloads.feed.workload import FeedWorkload as workloads_feed_workload_FeedWorkload
from workloads.ledger.workload import LedgerWorkload as workloads_ledger_workload_LedgerWorkload
from workloads.log.workload import LogWorkload as workloads_log_workload_LogWorkload
from workloads.queue.workload import QueueWorkload as workloads_queue_workload_QueueWorkload
from workloads.subscription.workload import SubscriptionWorkload as workloads_subscription_workload_SubscriptionWorkload
from workloads.transactions.workload import TransactionsWorkload as workloads_transactions_workload_TransactionsWorkload

_0: chaoskit_contract_host_HostProvider = clusters_hosts_attached_AttachedProvider()
_1: chaoskit_contract_host_HostProvider = clusters_hosts_lab_LocalProvider()
_2: chaoskit_contract_host_HostProvider = clusters_hosts_remote_provider_SshProvider()
_3: chaoskit_contract_system_System = clusters_bookkeeper_system_System()
_4: chaoskit_contract_system_Fetching = clusters_bookkeeper_system_System()
_5: chaoskit_contract_system_Apart = clusters_bookkeeper_system_System()
_6: chaoskit_contract_wire_Decoding = clusters_bookkeeper_system_System()
_7: chaoskit_contract_ledger_LedgerClients = clusters_bookkeeper_client_BookKeeperClients({})
_8: chaoskit_contract_system_System = clusters_cyclonedds_system_System()
_9: chaoskit_contract_system_Apart = clusters_cyclonedds_system_System()
_10: chaoskit_contract_feed_FeedClients = clusters_cyclonedds_client_CycloneClients({})
_11: chaoskit_contract_system_System = clusters_kafka_system_System()
_12: chaoskit_contract_system_Fetching = clusters_kafka_system_System()
_13: chaoskit_contract_system_Apart = clusters_kafka_system_System()
_14: chaoskit_contract_system_Varied = clusters_kafka_system_System()
_15: chaoskit_contract_system_Naming = clusters_kafka_system_System()
_16: chaoskit_contract_attach_Attaching = clusters_kafka_system_System()
_17: chaoskit_contract_wire_Decoding = clusters_kafka_system_System()
_18: chaoskit_contract_client_LogClients = clusters_kafka_client_KafkaClients({})
_19: chaoskit_contract_client_SeekingClients = clusters_kafka_client_KafkaClients({})
_20: chaoskit_contract_client_TransactionalClients = clusters_kafka_client_KafkaClients({})
_21: chaoskit_contract_feed_FeedClients = clusters_kafka_client_KafkaClients({})
_22: chaoskit_contract_client_LogClients = clusters_kafka_java_client_JavaClients({})
_23: chaoskit_contract_client_TransactionalClients = clusters_kafka_java_client_JavaClients({})
_24: chaoskit_contract_system_System = clusters_mosquitto_system_System()
_25: chaoskit_contract_system_Rooted = clusters_mosquitto_system_System()
_26: chaoskit_contract_system_Apart = clusters_mosquitto_system_System()
_27: chaoskit_contract_wire_Decoding = clusters_mosquitto_system_System()
_28: chaoskit_contract_feed_FeedClients = clusters_mosquitto_client_MqttClients({})
_29: chaoskit_contract_system_System = clusters_pulsar_system_System()
_30: chaoskit_contract_system_Positions = clusters_pulsar_system_System()
_31: chaoskit_contract_system_Fetching = clusters_pulsar_system_System()
_32: chaoskit_contract_system_Apart = clusters_pulsar_system_System()
_33: chaoskit_contract_system_Typed = clusters_pulsar_system_System()
_34: chaoskit_contract_system_Queues = clusters_pulsar_system_System()
_35: chaoskit_contract_system_Imposing = clusters_pulsar_system_System()
_36: chaoskit_contract_wire_Decoding = clusters_pulsar_system_System()
_37: chaoskit_contract_client_LogClients = clusters_pulsar_client_PulsarClients({})
_38: chaoskit_contract_client_SeekingClients = clusters_pulsar_client_PulsarClients({})
_39: chaoskit_contract_client_SequencedClients = clusters_pulsar_client_PulsarClients({})
_40: chaoskit_contract_client_SubscribingClients = clusters_pulsar_client_PulsarClients({})
_41: chaoskit_contract_queue_QueueClients = clusters_pulsar_client_PulsarClients({})
_42: chaoskit_contract_client_LogClients = clusters_pulsar_java_client_JavaClients({})
_43: chaoskit_contract_queue_QueueClients = clusters_pulsar_java_client_JavaClients({})
_44: chaoskit_contract_system_System = clusters_rabbitmq_system_System()
_45: chaoskit_contract_system_Rooted = clusters_rabbitmq_system_System()
_46: chaoskit_contract_system_Apart = clusters_rabbitmq_system_System()
_47: chaoskit_contract_system_Typed = clusters_rabbitmq_system_System()
_48: chaoskit_contract_system_Queues = clusters_rabbitmq_system_System()
_49: chaoskit_contract_system_Imposing = clusters_rabbitmq_system_System()
_50: chaoskit_contract_attach_Attaching = clusters_rabbitmq_system_System()
_51: chaoskit_contract_wire_Decoding = clusters_rabbitmq_system_System()
_52: chaoskit_contract_client_LogClients = clusters_rabbitmq_client_RabbitClients({})
_53: chaoskit_contract_client_SequencedClients = clusters_rabbitmq_client_RabbitClients({})
_54: chaoskit_contract_queue_QueueClients = clusters_rabbitmq_client_RabbitClients({})
_55: chaoskit_contract_system_System = clusters_rocketmq_system_System()
_56: chaoskit_contract_system_Fetching = clusters_rocketmq_system_System()
_57: chaoskit_contract_system_Varied = clusters_rocketmq_system_System()
_58: chaoskit_contract_system_Typed = clusters_rocketmq_system_System()
_59: chaoskit_contract_system_Queues = clusters_rocketmq_system_System()
_60: chaoskit_contract_wire_Decoding = clusters_rocketmq_system_System()
_61: chaoskit_contract_client_LogClients = clusters_rocketmq_client_RocketClients({})
_62: chaoskit_contract_client_TransactionalClients = clusters_rocketmq_client_RocketClients({})
_63: chaoskit_contract_queue_QueueClients = clusters_rocketmq_client_RocketClients({})
_64: chaoskit_contract_queue_QueueClients = clusters_rocketmq_python_client_PythonClients({})
_65: chaoskit_contract_system_System = clusters_zenoh_system_System()
_66: chaoskit_contract_system_Apart = clusters_zenoh_system_System()
_67: chaoskit_contract_feed_FeedClients = clusters_zenoh_client_ZenohClients({})
_68: chaoskit_contract_workload_Workload = workloads_dedup_workload_DedupWorkload()
_69: chaoskit_contract_workload_Workload = workloads_feed_workload_FeedWorkload()
_70: chaoskit_contract_workload_SideTopics = workloads_feed_workload_FeedWorkload()
_71: chaoskit_contract_workload_Workload = workloads_feed_firehose_FirehoseWorkload()
_72: chaoskit_contract_workload_SideTopics = workloads_feed_firehose_FirehoseWorkload()
_73: chaoskit_contract_workload_Measuring = workloads_feed_firehose_FirehoseWorkload()
_74: chaoskit_contract_workload_Workload = workloads_feed_pingpong_PingPongWorkload()
_75: chaoskit_contract_workload_SideTopics = workloads_feed_pingpong_PingPongWorkload()
_76: chaoskit_contract_workload_Measuring = workloads_feed_pingpong_PingPongWorkload()
_77: chaoskit_contract_workload_Workload = workloads_log_workload_LogWorkload()
_78: chaoskit_contract_workload_Workload = workloads_queue_workload_QueueWorkload()
_79: chaoskit_contract_workload_Workload = workloads_subscription_workload_SubscriptionWorkload()
_80: chaoskit_contract_workload_Workload = workloads_transactions_workload_TransactionsWorkload()
_81: chaoskit_contract_workload_Workload = workloads_ledger_workload_LedgerWorkload()
_82: chaoskit_contract_nemesis_Nemesis = nemeses_process_Kill()
_83: chaoskit_contract_nemesis_Nemesis = nemeses_process_Pause()
_84: chaoskit_contract_nemesis_Nemesis = nemeses_process_Restart()
_85: chaoskit_contract_nemesis_Nemesis = nemeses_process_RollingRestart()
_86: chaoskit_contract_nemesis_Nemesis = nemeses_stumbling_Zombie()
_87: chaoskit_contract_nemesis_Nemesis = nemeses_stumbling_CrashLoop()
_88: chaoskit_contract_nemesis_Nemesis = nemeses_stumbling_Stall()
_89: chaoskit_contract_nemesis_Nemesis = nemeses_command_UserCommand()
_90: chaoskit_contract_nemesis_Nemesis = nemeses_resources_CpuStarve()
_91: chaoskit_contract_nemesis_Nemesis = nemeses_resources_MemoryPressure()
_92: chaoskit_contract_nemesis_Nemesis = nemeses_resources_FileExhaustion()
_93: chaoskit_contract_nemesis_Nemesis = nemeses_network_partition_Partition()
_94: chaoskit_contract_nemesis_Nemesis = nemeses_network_packets_PacketLoss()
_95: chaoskit_contract_nemesis_Nemesis = nemeses_network_packets_PacketDelay()
_96: chaoskit_contract_nemesis_Preparing = nemeses_network_packets_PacketDelay()
_97: chaoskit_contract_nemesis_Nemesis = nemeses_network_packets_PacketReorder()
_98: chaoskit_contract_nemesis_Preparing = nemeses_network_packets_PacketReorder()
_99: chaoskit_contract_nemesis_Nemesis = nemeses_network_packets_PacketDuplicate()
_100: chaoskit_contract_nemesis_Preparing = nemeses_network_packets_PacketDuplicate()
_101: chaoskit_contract_nemesis_Nemesis = nemeses_network_packets_PacketCorrupt()
_102: chaoskit_contract_nemesis_Preparing = nemeses_network_packets_PacketCorrupt()
_103: chaoskit_contract_nemesis_Nemesis = nemeses_network_bandwidth_Bandwidth()
_104: chaoskit_contract_nemesis_Preparing = nemeses_network_bandwidth_Bandwidth()
_105: chaoskit_contract_nemesis_Nemesis = nemeses_network_connections_ResetConnections()
_106: chaoskit_contract_nemesis_Nemesis = nemeses_network_connections_HalfOpen()
_107: chaoskit_contract_nemesis_Nemesis = nemeses_wire_fault_WireFault()
_108: chaoskit_contract_nemesis_Preparing = nemeses_wire_fault_WireFault()
_109: chaoskit_contract_nemesis_Counting = nemeses_wire_fault_WireFault()
_110: chaoskit_contract_nemesis_Preceding = nemeses_wire_fault_WireFault()
_111: chaoskit_contract_nemesis_Nemesis = nemeses_membership_ElectLeader()
_112: chaoskit_contract_nemesis_Nemesis = nemeses_membership_Reassign()
_113: chaoskit_contract_nemesis_Nemesis = nemeses_membership_RemoveBroker()
_114: chaoskit_contract_nemesis_Nemesis = nemeses_membership_Decommission()
_115: chaoskit_contract_nemesis_Nemesis = nemeses_membership_RollingUpgrade()
_116: chaoskit_contract_nemesis_Preparing = nemeses_membership_RollingUpgrade()
_117: chaoskit_contract_nemesis_Nemesis = nemeses_membership_MigrateMetadata()
_118: chaoskit_contract_nemesis_Nemesis = nemeses_clients_ClientCrash()
_119: chaoskit_contract_nemesis_Nemesis = nemeses_clients_ClientHang()
_120: chaoskit_contract_nemesis_Nemesis = nemeses_clients_ClientPause()
_121: chaoskit_contract_nemesis_Nemesis = nemeses_clients_ClientHijack()
_122: chaoskit_contract_nemesis_Nemesis = nemeses_clients_ClientDisconnect()
_123: chaoskit_contract_nemesis_Nemesis = nemeses_disk_power_PowerCut()
_124: chaoskit_contract_nemesis_Nemesis = nemeses_disk_full_DiskFull()
_125: chaoskit_contract_nemesis_Nemesis = nemeses_disk_slow_DiskSlow()
_126: chaoskit_contract_nemesis_Nemesis = nemeses_disk_freeze_DiskFreeze()
_127: chaoskit_contract_nemesis_Nemesis = nemeses_disk_broken_DiskDead()
_128: chaoskit_contract_nemesis_Nemesis = nemeses_disk_broken_DiskReadOnly()
_129: chaoskit_contract_nemesis_Nemesis = nemeses_disk_images_DiskWipe()
_130: chaoskit_contract_nemesis_Nemesis = nemeses_disk_images_Snapshot()
_131: chaoskit_contract_nemesis_Nemesis = nemeses_disk_images_TimeTravel()
_132: chaoskit_contract_nemesis_Nemesis = nemeses_disk_corruption_BitFlip()
_133: chaoskit_contract_nemesis_Nemesis = nemeses_disk_corruption_Truncate()
_134: chaoskit_contract_nemesis_Nemesis = nemeses_disk_lies_FsyncLies()
_135: chaoskit_contract_nemesis_Nemesis = nemeses_disk_program_DiskErrors()
_136: chaoskit_contract_nemesis_Nemesis = nemeses_clock_ClockOffset()
_137: chaoskit_contract_nemesis_Nemesis = nemeses_clock_ClockJump()
_138: chaoskit_contract_nemesis_Nemesis = nemeses_clock_ClockDrift()
_139: chaoskit_contract_nemesis_Nemesis = nemeses_clock_ClockStrobe()
_140: chaoskit_contract_nemesis_Nemesis = nemeses_disk_program_DiskProgram()
_141: chaoskit_contract_synthesizer_Synthesizer = checkers_synthetic_folder_LogSynthesizer()
_142: chaoskit_contract_checker_Checker = checkers_log_logs_LogChecker()
_143: chaoskit_contract_checker_Settling = checkers_log_logs_LogChecker()
_144: chaoskit_contract_digesting_Digesting = checkers_log_logs_LogChecker()
_145: chaoskit_contract_checker_Checker = checkers_transaction_transactions_TransactionChecker()
_146: chaoskit_contract_checker_Spanning = checkers_transaction_transactions_TransactionChecker()
_147: chaoskit_contract_checker_Checker = checkers_subscription_groups_GroupChecker()
_148: chaoskit_contract_checker_Checker = checkers_subscription_subscriptions_SubscriptionChecker()
_149: chaoskit_contract_checker_Checker = checkers_time_times_TimeChecker()
_150: chaoskit_contract_checker_Checker = checkers_ledger_ledgers_LedgerChecker()
_151: chaoskit_contract_checker_Checker = checkers_queue_queues_QueueChecker()
_152: chaoskit_contract_checker_Settling = checkers_queue_queues_QueueChecker()
_153: chaoskit_contract_checker_Checker = checkers_pubsub_checker_PubSubChecker()
_154: chaoskit_contract_checker_Settling = checkers_pubsub_checker_PubSubChecker()
_155: chaoskit_contract_system_System = tinylog_system_TinyLog()
_156: chaoskit_contract_client_LogClients = tinylog_client_Clients({})
_157: chaoskit_contract_system_System = tinymesh_system_TinyMesh()
_158: chaoskit_contract_feed_FeedClients = tinymesh_client_Clients({})
_159: chaoskit_contract_system_System = tinyqueue_system_TinyQueue()
_160: chaoskit_contract_workload_Workload = tinyqueue_workload_QueueWorkload()
_161: chaoskit_contract_checker_Checker = tinyqueue_checker_VanishedChecker()
