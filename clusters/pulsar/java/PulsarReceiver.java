import java.io.Closeable;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.Consumer;
import org.apache.pulsar.client.api.Message;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Reader;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.SubscriptionInitialPosition;
import org.apache.pulsar.client.impl.conf.ConsumerConfigurationData;
import org.apache.pulsar.client.impl.conf.ReaderConfigurationData;

/** Reads each partition with a reader, or as a group with a consumer for each partition of its topics. */
final class PulsarReceiver implements Receiver {
  private static final int ARRIVED_MAX = 1000;
  private static final String NO_RECEIPT = "NoReceipt"; // as in clusters/pulsar/consumer.py

  private static final class Arrived {
    final Place place;
    final Message<byte[]> message;

    Arrived(Place place, Message<byte[]> message) {
      this.place = place;
      this.message = message;
    }
  }

  private final PulsarConnection connection;
  // Bounded: while the worker is busy, the client's listener waits, and then its brokers do.
  private final ArrayBlockingQueue<Arrived> arrived = new ArrayBlockingQueue<>(ARRIVED_MAX);
  private final Map<Place, CompletableFuture<? extends Closeable>> sources = new LinkedHashMap<>();
  private final Map<Place, MessageId> given = new HashMap<>();
  private boolean grouped;
  private boolean paused;

  PulsarReceiver(PulsarConnection connection) {
    this.connection = connection;
  }

  @Override
  public void assign(List<Place> places) {
    places.forEach(place -> sources.put(place, reader(place)));
  }

  @Override
  public void subscribe(List<String> topics) throws Exception {
    grouped = true;
    for (String topic : topics) {
      int count = connection.client.getPartitionsForTopic(connection.topic(topic)).get().size();
      for (int partition = 0; partition < count; partition++) {
        Place place = new Place(topic, partition);
        sources.put(place, member(place));
      }
    }
    // Before the load begins, so that later members take nothing over; what cannot be reached now is for poll.
    for (CompletableFuture<?> each : sources.values()) {
      try {
        each.get();
      } catch (ExecutionException unreachable) {
        break;
      }
    }
  }

  @Override
  public void poll(int timeoutMs, DataOutputStream answer) throws Exception {
    String error = again();
    List<Arrived> some = new ArrayList<>();
    if (paused) {
      Thread.sleep(timeoutMs);
    } else {
      Arrived first = arrived.poll(timeoutMs, TimeUnit.MILLISECONDS);
      if (first != null) {
        some.add(first);
        arrived.drainTo(some);
      }
    }
    Map<Place, List<Message<byte[]>>> byPlace = new LinkedHashMap<>();
    some.forEach(each -> byPlace.computeIfAbsent(each.place, any -> new ArrayList<>()).add(each.message));
    answer.writeUTF(error);
    Place.writeAll(List.of(), answer); // readers are not told that a position is gone
    answer.writeInt(byPlace.size());
    for (Map.Entry<Place, List<Message<byte[]>>> each : byPlace.entrySet()) {
      each.getKey().write(answer);
      answer.writeInt(each.getValue().size());
      for (Message<byte[]> message : each.getValue()) {
        write(message, answer);
        given.put(each.getKey(), message.getMessageId());
      }
    }
  }

  @Override
  public String commit(Map<Place, Long> positions) {
    String error = NO_RECEIPT;
    for (Place each : positions.keySet()) {
      try {
        ((Consumer<?>) sources.get(each).join()).acknowledgeCumulative(given.get(each));
      } catch (PulsarClientException failure) {
        error = Relay.nameOf(failure);
      }
    }
    return error;
  }

  @Override
  public void seekToBeginning(List<Place> places) throws PulsarClientException {
    for (Place each : places) {
      Object source = sources.get(each).join();
      if (grouped) {
        ((Consumer<?>) source).seek(MessageId.earliest);
      } else {
        ((Reader<?>) source).seek(MessageId.earliest);
      }
      arrived.removeIf(old -> old.place.equals(each));
    }
  }

  @Override
  public void hold(boolean paused) {
    this.paused = paused;
  }

  @Override
  public void close() throws InterruptedException {
    connection.close();
  }

  /** Connects again where that failed; returns why, or nothing. */
  private String again() {
    String error = "";
    for (Map.Entry<Place, CompletableFuture<? extends Closeable>> each : sources.entrySet()) {
      if (each.getValue().isCompletedExceptionally()) {
        error = failure(each.getValue());
        each.setValue(grouped ? member(each.getKey()) : reader(each.getKey()));
      }
    }
    return error;
  }

  private static String failure(CompletableFuture<?> source) {
    try {
      source.join();
      return "";
    } catch (RuntimeException failed) {
      return Relay.nameOf(PulsarConnection.causeOf(failed));
    }
  }

  private CompletableFuture<Reader<byte[]>> reader(Place place) {
    Map<String, Object> settings = connection.settings(ReaderConfigurationData.class);
    settings.remove(PulsarConnection.SUBSCRIPTION); // of groups
    return connection
        .client
        .newReader(Schema.BYTES)
        .loadConf(settings)
        .topic(connection.partition(place))
        .startMessageId(MessageId.earliest)
        .readerListener((reader, message) -> put(place, message))
        .createAsync();
  }

  private CompletableFuture<Consumer<byte[]>> member(Place place) {
    return connection
        .client
        .newConsumer(Schema.BYTES)
        .loadConf(connection.settings(ConsumerConfigurationData.class))
        .topic(connection.partition(place))
        .subscriptionName(connection.text(PulsarConnection.SUBSCRIPTION))
        .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest)
        .messageListener((consumer, message) -> put(place, message))
        .subscribeAsync();
  }

  private void put(Place place, Message<byte[]> message) {
    try {
      arrived.put(new Arrived(place, message));
    } catch (InterruptedException closed) {
      Thread.currentThread().interrupt();
    }
  }

  private void write(Message<byte[]> message, DataOutputStream answer) throws IOException {
    byte[] key = message.hasKey() ? message.getKey().getBytes(StandardCharsets.UTF_8) : null;
    int redelivered = grouped ? message.getRedeliveryCount() : -1;
    Receiver.write(PulsarConnection.position(message.getMessageId()), redelivered, key, message.getData(), answer);
  }
}
