import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * A member of a share group, which receives from all its queues in one thread.
 *
 * <p>Kafka's client polls no more before everything that it returned is acknowledged. So what it returned is handed out
 * in parts, and the next poll follows when all are settled.
 */
final class ShareQueues extends Queues {
  static final String PREFETCH = "chaoskit.prefetch";

  private static final Duration POLLS = Duration.ofMillis(200);
  private static final Duration SETTLES = Duration.ofSeconds(4); // less than a settlement is waited for
  private static final Duration LEAVES = Duration.ofSeconds(5);

  private final Map<String, Object> settings;
  private final int most;
  private KafkaShareConsumer<byte[], byte[]> consumer;

  ShareQueues(Map<String, Object> settings) {
    this.settings = new HashMap<>(settings);
    int prefetch = Integer.parseInt((String) this.settings.remove(PREFETCH));
    most = prefetch == 0 ? Integer.MAX_VALUE : prefetch;
  }

  static KafkaShareConsumer<byte[], byte[]> connect(Map<String, Object> settings) {
    return new KafkaShareConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  @Override
  Source source(List<String> queues) {
    return new Member(queues);
  }

  @Override
  void close() {
    if (consumer != null) {
      consumer.close(LEAVES);
    }
  }

  /** Kafka's client did not say what became of an acknowledgement. */
  private static final class NotAnswered extends Exception {}

  /** How a delivery is settled, and what completes when the broker has answered. */
  private static final class Settlement {
    private final ConsumerRecord<byte[], byte[]> record;
    private final AcknowledgeType how;
    private final CompletableFuture<Void> settled = new CompletableFuture<>();

    Settlement(ConsumerRecord<byte[], byte[]> record, AcknowledgeType how) {
      this.record = record;
      this.how = how;
    }

    TopicPartition partition() {
      return new TopicPartition(record.topic(), record.partition());
    }
  }

  /** A delivery; only the member's thread may use its client. */
  private static final class Acquired implements Arrival {
    private final ConsumerRecord<byte[], byte[]> record;
    private final BlockingQueue<Settlement> settlements;

    Acquired(ConsumerRecord<byte[], byte[]> record, BlockingQueue<Settlement> settlements) {
      this.record = record;
      this.settlements = settlements;
    }

    @Override
    public String queue() {
      return record.topic();
    }

    @Override
    public String origin() {
      return "";
    }

    @Override
    public byte[] content() {
      return record.value();
    }

    @Override
    public int times() {
      return record.deliveryCount().orElse((short) 1) - 1;
    }

    @Override
    public CompletableFuture<?> acknowledge() {
      return settle(AcknowledgeType.ACCEPT);
    }

    @Override
    public CompletableFuture<?> refuse() {
      return settle(AcknowledgeType.RELEASE);
    }

    @Override
    public CompletableFuture<?> reject() {
      return settle(AcknowledgeType.REJECT);
    }

    @Override
    public void leave() {}

    private CompletableFuture<?> settle(AcknowledgeType how) {
      Settlement settlement = new Settlement(record, how);
      settlements.add(settlement);
      return settlement.settled;
    }
  }

  private final class Member implements Source {
    private final List<String> queues;
    private final BlockingQueue<Settlement> settlements = new LinkedBlockingQueue<>();
    private final Deque<ConsumerRecord<byte[], byte[]>> polled = new ArrayDeque<>();
    private int held;

    Member(List<String> queues) {
      this.queues = queues;
    }

    @Override
    public List<Arrival> receive() throws Exception {
      if (consumer == null) {
        consumer = connect(settings);
        consumer.subscribe(queues);
      }
      if (polled.isEmpty() && held == 0) {
        consumer.poll(POLLS).forEach(polled::add);
      } else if (polled.isEmpty() || held == most) {
        Settlement first = settlements.poll(POLLS.toMillis(), TimeUnit.MILLISECONDS);
        if (first != null) {
          settle(first);
        }
      }
      List<Arrival> arrivals = new ArrayList<>();
      for (; !polled.isEmpty() && held < most; held++) {
        arrivals.add(new Acquired(polled.remove(), settlements));
      }
      return arrivals;
    }

    private void settle(Settlement first) {
      List<Settlement> all = new ArrayList<>(List.of(first));
      settlements.drainTo(all);
      held -= all.size();
      Map<TopicPartition, Optional<KafkaException>> answers = new HashMap<>();
      try {
        all.forEach(each -> consumer.acknowledge(each.record, each.how));
        consumer.commitSync(SETTLES).forEach((place, error) -> answers.put(place.topicPartition(), error));
      } catch (KafkaException | IllegalStateException error) {
        all.forEach(each -> each.settled.completeExceptionally(error));
        return;
      }
      for (Settlement each : all) {
        Optional<KafkaException> answer = answers.get(each.partition());
        if (answer == null) { // it has results of those that were acknowledged, or failed: nobody knows
          each.settled.completeExceptionally(new NotAnswered());
        } else if (answer.isPresent()) {
          each.settled.completeExceptionally(answer.get());
        } else {
          each.settled.complete(null);
        }
      }
    }
  }
}
