import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.Producer;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.api.TypedMessageBuilder;
import org.apache.pulsar.client.api.transaction.Transaction;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;

/** Pulsar's producers, one for each partition. */
final class PulsarSender implements Sender {
  // After these a producer that was not closed never works again; an application goes on with a new one.
  private static final Set<Class<?>> FOR_GOOD =
      Set.of(
          PulsarClientException.AlreadyClosedException.class,
          PulsarClientException.NotConnectedException.class,
          PulsarClientException.ProducerFencedException.class);

  private final PulsarConnection connection;
  private final Completions completions;
  private final Map<Place, Producer<byte[]>> producers = new ConcurrentHashMap<>();
  private final Map<String, Long> delaysMs = new ConcurrentHashMap<>();
  private volatile boolean closing;

  PulsarSender(PulsarConnection connection, Completions completions) {
    this.connection = connection;
    this.completions = completions;
  }

  @Override
  public void send(long token, String topic, int partition, byte[] key, byte[] content) {
    send(token, new Place(topic, partition), key, content, null);
  }

  /** Sends a message inside of a transaction, or outside of any if that is null. */
  void send(long token, Place place, byte[] key, byte[] content, Transaction inside) {
    Producer<byte[]> producer;
    try {
      producer = producer(place);
    } catch (PulsarClientException error) { // there is no producer, so nothing was enqueued
      completions.refused(token, error);
      return;
    }
    TypedMessageBuilder<byte[]> message = inside == null ? producer.newMessage() : producer.newMessage(inside);
    message.value(content);
    long delayMs = delaysMs.computeIfAbsent(place.topic, connection::delayMs);
    if (delayMs > 0) {
      message.deliverAfter(delayMs, TimeUnit.MILLISECONDS);
    }
    if (key != null) {
      message.key(new String(key, StandardCharsets.UTF_8));
    }
    message.sendAsync().whenComplete((id, error) -> tell(token, id, error, place, producer));
  }

  @Override
  public void close(int timeoutMs) throws InterruptedException {
    CompletableFuture<?>[] flushed =
        producers.values().stream().map(Producer::flushAsync).toArray(CompletableFuture[]::new);
    try {
      CompletableFuture.allOf(flushed).get(timeoutMs, TimeUnit.MILLISECONDS);
    } catch (TimeoutException | ExecutionException open) {
      System.err.println(open); // what is open is told when the client closes
    }
    closing = true;
    connection.close();
  }

  private Producer<byte[]> producer(Place place) throws PulsarClientException {
    Producer<byte[]> producer = producers.get(place);
    if (producer == null) {
      producer =
          connection
              .client
              .newProducer(Schema.BYTES)
              .loadConf(connection.settings(ProducerConfigurationData.class))
              .topic(connection.partition(place))
              .create();
      producers.put(place, producer);
    }
    return producer;
  }

  private void tell(long token, MessageId id, Throwable error, Place place, Producer<byte[]> producer) {
    if (error == null) {
      completions.written(token, PulsarConnection.position(id));
      return;
    }
    Throwable cause = PulsarConnection.causeOf(error);
    completions.failed(token, cause);
    if (!closing && FOR_GOOD.contains(cause.getClass())) {
      producers.remove(place, producer);
    }
  }
}
