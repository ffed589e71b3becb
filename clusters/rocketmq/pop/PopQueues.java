import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.rocketmq.client.apis.ClientConfiguration;
import org.apache.rocketmq.client.apis.ClientException;
import org.apache.rocketmq.client.apis.ClientServiceProvider;
import org.apache.rocketmq.client.apis.consumer.FilterExpression;
import org.apache.rocketmq.client.apis.consumer.SimpleConsumer;
import org.apache.rocketmq.client.apis.message.MessageView;

/** Pops messages of queues, by RocketMQ's gRPC client: each stays invisible to others until it is settled, or in time. */
final class PopQueues {
  static final String ENDPOINTS = "endpoints";
  static final String INVISIBLE_MS = "invisible_ms";
  static final String PREFETCH = "prefetch";

  private static final int BATCH = 32; // a proxy pops no more at once
  private static final int UNLIMITED = 1 << 20;
  private static final long AGAIN_MS = 200;
  private static final Duration SOON = Duration.ofSeconds(1);
  private static final Duration AWAITS = Duration.ofSeconds(3);
  private static final long ENDS_MS = 8000;

  /** A delivery, with the consumer that settles it. */
  private static final class Arrival {
    final String topic;
    final SimpleConsumer consumer;
    final MessageView message;

    Arrival(String topic, SimpleConsumer consumer, MessageView message) {
      this.topic = topic;
      this.consumer = consumer;
      this.message = message;
    }
  }

  private final BlockingQueue<Arrival> arrived = new LinkedBlockingQueue<>();
  private final Map<Long, Arrival> unsettled = new HashMap<>();
  private final Semaphore room;
  private final Duration invisible;
  private final Map<String, Object> settings;
  private final List<Thread> receivers = new ArrayList<>();
  private volatile boolean ends;
  private volatile String error = "";
  private long tags;

  PopQueues(Map<String, Object> settings) {
    this.settings = settings;
    int prefetch = Integer.parseInt((String) settings.get(PREFETCH));
    room = new Semaphore(prefetch == 0 ? UNLIMITED : prefetch);
    invisible = Duration.ofMillis(Long.parseLong((String) settings.get(INVISIBLE_MS)));
  }

  void serve(DataInputStream in, OutputStream out) throws Exception {
    while (true) {
      ByteArrayOutputStream content = new ByteArrayOutputStream();
      DataOutputStream answer = new DataOutputStream(content);
      int kind = in.readByte();
      switch (kind) {
        case 'q':
          consume(in.readUTF(), in.readUTF());
          break;
        case 'p':
          poll(in.readInt(), in.readInt(), answer);
          break;
        case 'a':
          answer.writeUTF(settle(tags(in), arrival -> arrival.consumer.ackAsync(arrival.message)));
          break;
        case 'e':
          answer.writeInt(end() ? 1 : 0);
          break;
        case 'n':
          answer.writeUTF(settle(tags(in), each -> each.consumer.changeInvisibleDurationAsync(each.message, SOON)));
          break;
        default:
          return;
      }
      DataOutputStream whole = new DataOutputStream(out);
      whole.writeByte('k');
      whole.writeInt(content.size());
      content.writeTo(whole);
      whole.flush();
    }
  }

  private void consume(String topic, String group) {
    Thread receiver = new Thread(() -> receive(topic, group), "receive-" + topic);
    receiver.setDaemon(true);
    receiver.start();
    receivers.add(receiver);
  }

  /** Receives no more; returns whether nothing that was popped is left, also by what still waited at a broker. */
  private boolean end() throws InterruptedException {
    ends = true;
    long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ENDS_MS);
    for (Thread each : receivers) {
      each.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime())));
      if (each.isAlive()) {
        return false;
      }
    }
    return error.isEmpty() && arrived.isEmpty() && unsettled.isEmpty();
  }

  private void receive(String topic, String group) {
    SimpleConsumer consumer = null;
    while (!ends) {
      try {
        if (!room.tryAcquire(AGAIN_MS, TimeUnit.MILLISECONDS)) {
          continue;
        }
        int wanted = 1;
        while (wanted < BATCH && room.tryAcquire()) {
          wanted++;
        }
        List<MessageView> messages = List.of();
        try {
          consumer = consumer == null ? connect(topic, group) : consumer;
          messages = consumer.receive(wanted, invisible);
        } catch (ClientException | RuntimeException failure) {
          error = Relay.nameOf(Relay.rootOf(failure));
          Thread.sleep(AGAIN_MS);
        }
        for (MessageView each : messages) {
          arrived.add(new Arrival(topic, consumer, each));
        }
        room.release(wanted - messages.size());
      } catch (InterruptedException ended) {
        return;
      }
    }
  }

  private SimpleConsumer connect(String topic, String group) throws ClientException {
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

  private void poll(int timeoutMs, int most, DataOutputStream answer) throws Exception {
    List<Arrival> taken = new ArrayList<>();
    Arrival first = arrived.poll(timeoutMs, TimeUnit.MILLISECONDS);
    if (first != null) {
      taken.add(first);
      arrived.drainTo(taken, most - 1);
    }
    answer.writeUTF(error);
    error = "";
    answer.writeInt(taken.size());
    for (Arrival each : taken) {
      unsettled.put(++tags, each);
      answer.writeUTF(each.topic);
      answer.writeInt(1);
      ByteBuffer body = each.message.getBody();
      byte[] content = new byte[body.remaining()];
      body.get(content);
      Receiver.write(tags, each.message.getDeliveryAttempt() - 1, null, content, answer);
    }
  }

  private String settle(List<Long> chosen, Function<Arrival, CompletableFuture<Void>> how) {
    List<CompletableFuture<Void>> begun = new ArrayList<>();
    for (long tag : chosen) {
      begun.add(how.apply(unsettled.remove(tag)));
    }
    String failed = "";
    for (CompletableFuture<Void> each : begun) {
      try {
        each.join();
      } catch (CompletionException failure) {
        failed = Relay.nameOf(Relay.rootOf(failure));
      }
      room.release();
    }
    return failed;
  }

  private static List<Long> tags(DataInputStream in) throws IOException {
    List<Long> read = new ArrayList<>();
    for (int left = in.readInt(); left > 0; left--) {
      read.add(in.readLong());
    }
    return read;
  }
}
