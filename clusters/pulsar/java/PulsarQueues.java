import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.ConsumerBuilder;
import org.apache.pulsar.client.api.DeadLetterPolicy;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.api.SubscriptionType;
import org.apache.pulsar.client.impl.MultiplierRedeliveryBackoff;
import org.apache.pulsar.client.impl.conf.ConsumerConfigurationData;

/** Consumers of shared subscriptions; what they refuse comes again later, from the brokers or from a retry topic. */
final class PulsarQueues extends Queues {
  // The relay's own settings; see clusters/pulsar/java/queues.py.
  private static final String PREFETCH = "prefetch";
  private static final String LATER_MS = "reconsumeLaterMs";
  private static final String BACKOFF = "negativeAckRedeliveryBackoff.";

  private static final int AHEAD = 1000;
  private static final int WAIT_MS = 200;
  private static final String TIMES = "RECONSUMETIMES"; // properties that the client sets itself
  private static final String FROM = "REAL_TOPIC";

  private final PulsarConnection connection;
  private final Map<String, Object> settings;
  private final int prefetch;
  private final boolean receipts;

  PulsarQueues(Map<String, Object> settings) throws PulsarClientException {
    this.settings = settings;
    connection = new PulsarConnection(settings);
    prefetch = (int) number(PREFETCH);
    receipts = Boolean.parseBoolean(connection.text("ackReceiptEnabled"));
  }

  @Override
  Source source(List<String> described) {
    return new Subscribing(described);
  }

  @Override
  void close() throws InterruptedException {
    connection.close();
  }

  private long number(String name) {
    return Long.parseLong(connection.text(name));
  }

  private final class Subscribing implements Source {
    private final String queue;
    private final String subscription;
    private final int limit;
    private final String dead;
    private final String retry;
    private final Semaphore room = room(prefetch);
    private Consumer<byte[]> consumer;

    Subscribing(List<String> described) {
      queue = described.get(0);
      subscription = described.get(1);
      limit = Integer.parseInt(described.get(2));
      dead = described.get(3);
      retry = described.get(4);
    }

    @Override
    public List<Arrival> receive() throws Exception {
      if (consumer == null) {
        consumer = subscribe();
      }
      if (!room.tryAcquire(WAIT_MS, TimeUnit.MILLISECONDS)) {
        return List.of();
      }
      Message<byte[]> message = null;
      try {
        message = consumer.receive(WAIT_MS, TimeUnit.MILLISECONDS);
      } finally {
        if (message == null) {
          room.release();
        }
      }
      return message == null ? List.of() : List.of(new Received(this, message));
    }

    private Consumer<byte[]> subscribe() throws PulsarClientException {
      ConsumerBuilder<byte[]> builder =
          connection
              .client
              .newConsumer(Schema.BYTES)
              .loadConf(connection.settings(ConsumerConfigurationData.class))
              .topic(queue)
              .subscriptionName(subscription)
              .subscriptionType(SubscriptionType.Shared)
              .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
              .receiverQueueSize(prefetch == 0 ? AHEAD : prefetch)
              .enableRetry(!retry.isEmpty());
      if (limit > 0) {
        DeadLetterPolicy.DeadLetterPolicyBuilder policy =
            DeadLetterPolicy.builder().maxRedeliverCount(limit).deadLetterTopic(dead);
        builder.deadLetterPolicy((retry.isEmpty() ? policy : policy.retryLetterTopic(retry)).build());
      }
      if (settings.containsKey(BACKOFF + "minDelayMs")) {
        builder.negativeAckRedeliveryBackoff(
            MultiplierRedeliveryBackoff.builder()
                .minDelayMs(number(BACKOFF + "minDelayMs"))
                .maxDelayMs(number(BACKOFF + "maxDelayMs"))
                .multiplier(Double.parseDouble(connection.text(BACKOFF + "multiplier")))
                .build());
      }
      return builder.subscribe();
    }
  }

  private final class Received implements Arrival {
    private final Subscribing from;
    private final Message<byte[]> message;

    Received(Subscribing from, Message<byte[]> message) {
      this.from = from;
      this.message = message;
    }

    @Override
    public String queue() {
      return from.queue;
    }

    @Override
    public String origin() {
      return message.hasProperty(FROM) ? message.getProperty(FROM) : "";
    }

    @Override
    public byte[] content() {
      return message.getData();
    }

    @Override
    public int times() {
      // A dead letter has the property, too, but its consumers have no retry topic.
      boolean retried = !from.retry.isEmpty() && message.hasProperty(TIMES);
      return (retried ? Integer.parseInt(message.getProperty(TIMES)) : 0) + message.getRedeliveryCount();
    }

    @Override
    public CompletableFuture<?> acknowledge() {
      return ifConnected(from.consumer.acknowledgeAsync(message));
    }

    @Override
    public CompletableFuture<?> refuse() {
      if (!from.retry.isEmpty()) {
        return from.consumer.reconsumeLaterAsync(message, number(LATER_MS), TimeUnit.MILLISECONDS);
      }
      from.consumer.negativeAcknowledge(message);
      return ifConnected(CompletableFuture.completedFuture(null));
    }

    /** Returns a failure if there is no connection now: what was said goes out later, if at all. */
    private CompletableFuture<?> ifConnected(CompletableFuture<?> said) {
      boolean told = receipts || from.consumer.isConnected();
      return told ? said : CompletableFuture.failedFuture(new PulsarClientException.NotConnectedException());
    }

    @Override
    public void leave() {
      from.room.release();
    }
  }
}
