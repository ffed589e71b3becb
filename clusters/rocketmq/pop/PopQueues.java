import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;

/** Pops messages of queues, by RocketMQ's gRPC client: each stays invisible to others until it is settled, or in time. */
final class PopQueues extends Queues {
  static final String ENDPOINTS = "endpoints";
  static final String INVISIBLE_MS = "invisible_ms";
  static final String PREFETCH = "prefetch";

  private static final int BATCH = 32; // a proxy pops no more at once
  private static final long WAIT_MS = 200;
  private static final Duration SOON = Duration.ofSeconds(1);
  private static final Duration AWAITS = Duration.ofSeconds(3);

  private final Semaphore room;
  private final Duration invisible;
  private final Map<String, Object> settings;

  PopQueues(Map<String, Object> settings) {
    this.settings = settings;
    room = room(Integer.parseInt((String) settings.get(PREFETCH)));
    invisible = Duration.ofMillis(Long.parseLong((String) settings.get(INVISIBLE_MS)));
  }

  /** A delivery, with the consumer that settles it. */
  private final class Popped implements Arrival {
    private final String topic;
    private final SimpleConsumer consumer;
    private final MessageView message;

    Popped(String topic, SimpleConsumer consumer, MessageView message) {
      this.topic = topic;
      this.consumer = consumer;
      this.message = message;
    }

    @Override
    public String queue() {
      return topic;
    }

    @Override
    public String origin() {
      return "";
    }

    @Override
    public byte[] content() {
      ByteBuffer body = message.getBody();
      byte[] content = new byte[body.remaining()];
      body.get(content);
      return content;
    }

    @Override
    public int times() {
      return message.getDeliveryAttempt() - 1;
    }

    @Override
    public CompletableFuture<?> acknowledge() {
      return consumer.ackAsync(message);
    }

    @Override
    public CompletableFuture<?> refuse() {
      return consumer.changeInvisibleDurationAsync(message, SOON);
    }

    @Override
    public void leave() {
      room.release();
    }
  }

  @Override
  Source source(List<String> described) {
    return new Popping(described.get(0), described.get(1));
  }

  @Override
  void close() {}

  private final class Popping implements Source {
    private final String topic;
    private final String group;
    private SimpleConsumer consumer;

    Popping(String topic, String group) {
      this.topic = topic;
      this.group = group;
    }

    @Override
    public List<Arrival> receive() throws Exception {
      if (!room.tryAcquire(WAIT_MS, TimeUnit.MILLISECONDS)) {
        return List.of();
      }
      int wanted = 1;
      while (wanted < BATCH && room.tryAcquire()) {
        wanted++;
      }
      List<Arrival> popped = new ArrayList<>();
      try {
        consumer = consumer == null ? connect() : consumer;
        for (MessageView each : consumer.receive(wanted, invisible)) {
          popped.add(new Popped(topic, consumer, each));
        }
      } finally {
        room.release(wanted - popped.size());
      }
      return popped;
    }

    private SimpleConsumer connect() throws ClientException {
      ClientConfiguration configuration =
          ClientConfiguration.newBuilder()
              .setEndpoints((String) settings.get(ENDPOINTS))
              .enableSsl(false)
              .setRequestTimeout(Duration.ofSeconds(5))
              .build();
      return ClientServiceProvider.loadService()
          .newSimpleConsumerBuilder()
          .setClientConfiguration(configuration)
          .setConsumerGroup(group)
          .setAwaitDuration(AWAITS)
          .setSubscriptionExpressions(Map.of(topic, FilterExpression.SUB_ALL))
          .build();
    }
  }
}
