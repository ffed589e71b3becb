import java.io.DataOutputStream;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.NoOffsetForPartitionException;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidPidMappingException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.UnknownProducerIdException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Kafka's own clients. */
public final class KafkaRelay extends Relay {
  public static void main(String[] arguments) throws IOException {
    new KafkaRelay().run(arguments);
  }

  @Override
  Sender sender(Map<String, Object> settings, Completions completions) {
    return new Producing(settings, completions);
  }

  @Override
  Sender transactional(Map<String, Object> settings, Completions completions) {
    return new Transacting(settings, completions);
  }

  @Override
  Receiver receiver(Map<String, Object> settings, Requests requests) {
    return new Consuming(settings, requests);
  }

  @Override
  void check(String role, Map<String, Object> settings, Refusals refusals) {
    boolean sends = role.equals("producer");
    Set<String> known = sends ? ProducerConfig.configNames() : ConsumerConfig.configNames();
    new TreeSet<>(settings.keySet()).stream().filter(name -> !known.contains(name)).forEach(refusals::unknown);
    try {
      if (sends) {
        new KafkaProducer<>(serialized(settings)).close();
      } else {
        new KafkaConsumer<>(deserialized(settings)).close();
      }
    } catch (KafkaException error) {
      refusals.refused("", String.valueOf(rootOf(error).getMessage()));
    }
  }

  private static Map<String, Object> serialized(Map<String, Object> settings) {
    Map<String, Object> whole = new HashMap<>(settings);
    whole.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
    whole.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
    return whole;
  }

  private static Map<String, Object> deserialized(Map<String, Object> settings) {
    Map<String, Object> whole = new HashMap<>(settings);
    whole.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
    whole.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
    return whole;
  }

  private static void tell(Completions completions, long token, RecordMetadata metadata, Exception error) {
    if (error == null) {
      completions.written(token, metadata.hasOffset() ? metadata.offset() : -1);
    } else {
      completions.failed(token, error);
    }
  }

  private static final class Producing implements Sender {
    private final Map<String, Object> settings;
    private final Completions completions;
    private KafkaProducer<byte[], byte[]> producer;

    Producing(Map<String, Object> settings, Completions completions) {
      this.settings = serialized(settings);
      this.completions = completions;
      this.producer = new KafkaProducer<>(this.settings);
    }

    @Override
    public void send(long token, String topic, int partition, byte[] key, byte[] content) {
      try {
        producer.send(
            new ProducerRecord<>(topic, partition, key, content),
            (metadata, error) -> tell(completions, token, metadata, error));
      } catch (KafkaException error) { // nothing was enqueued: the producer is in an error that it cannot leave
        completions.refused(token, error);
        producer.close(Duration.ZERO);
        producer = new KafkaProducer<>(settings);
      }
    }

    @Override
    public void close(int timeoutMs) {
      producer.close(Duration.ofMillis(timeoutMs));
    }
  }

  /** Transactions one after the other, each from its first message on. The first end is that of its registration. */
  private static final class Transacting implements Sender {
    private static final long PATIENCE_NS = 60_000_000_000L;

    private final Completions completions;
    private final KafkaProducer<byte[], byte[]> producer;
    private boolean registered;
    private boolean open;

    Transacting(Map<String, Object> settings, Completions completions) {
      this.completions = completions;
      this.producer = new KafkaProducer<>(serialized(settings));
    }

    @Override
    public void send(long token, String topic, int partition, byte[] key, byte[] content) {
      try {
        if (!open) {
          producer.beginTransaction();
          open = true;
        }
        producer.send(
            new ProducerRecord<>(topic, partition, key, content),
            (metadata, error) -> tell(completions, token, metadata, error));
      } catch (KafkaException | IllegalStateException error) {
        completions.refused(token, error);
      }
    }

    @Override
    public void end(long token, boolean commit) {
      boolean ends = open;
      open = false;
      try {
        if (!registered) {
          producer.initTransactions();
          registered = true;
        } else if (ends) {
          patiently(commit ? producer::commitTransaction : producer::abortTransaction);
        }
        completions.written(token, -1);
      } catch (ProducerFencedException fenced) {
        completions.failed(token, fenced);
      } catch (KafkaException error) {
        if (ends && commit && !isForgotten(error) && aborted()) {
          completions.refused(token, error);
        } else {
          completions.failed(token, error);
        }
      }
    }

    @Override
    public void close(int timeoutMs) {
      producer.close(Duration.ofMillis(timeoutMs));
    }

    private void patiently(Runnable end) {
      long deadline = System.nanoTime() + PATIENCE_NS;
      while (true) {
        try {
          end.run();
          return;
        } catch (TimeoutException late) { // it may only be asked for again
          if (System.nanoTime() > deadline) {
            throw late;
          }
        }
      }
    }

    /** A coordinator that no longer knows the transaction may confirm an abort, which proves nothing then. */
    private static boolean isForgotten(KafkaException error) {
      Throwable cause = rootOf(error);
      return cause instanceof UnknownProducerIdException || cause instanceof InvalidPidMappingException;
    }

    private boolean aborted() {
      try {
        patiently(producer::abortTransaction);
        return true;
      } catch (KafkaException error) {
        return false;
      }
    }
  }

  private static final class Consuming implements Receiver, ConsumerRebalanceListener {
    private static final Duration COMMITTED = Duration.ofSeconds(10);

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final Requests requests;
    private boolean paused;

    Consuming(Map<String, Object> settings, Requests requests) {
      this.consumer = new KafkaConsumer<>(deserialized(settings));
      this.requests = requests;
    }

    @Override
    public void assign(List<Place> places) {
      List<TopicPartition> wanted = partitions(places);
      consumer.assign(wanted);
      consumer.seekToBeginning(wanted); // never none
    }

    @Override
    public void subscribe(List<String> topics) {
      consumer.subscribe(topics, this);
    }

    @Override
    public void poll(int timeoutMs, DataOutputStream answer) throws IOException {
      ConsumerRecords<byte[], byte[]> records = ConsumerRecords.empty();
      Collection<TopicPartition> lost = List.of();
      String error = "";
      try {
        records = consumer.poll(Duration.ofMillis(timeoutMs));
      } catch (NoOffsetForPartitionException none) {
        lost = none.partitions();
        error = nameOf(none);
      } catch (OffsetOutOfRangeException gone) {
        lost = gone.offsetOutOfRangePartitions().keySet();
        error = nameOf(gone);
      } catch (KafkaException other) {
        error = nameOf(other);
      }
      answer.writeUTF(error);
      Place.writeAll(places(lost), answer);
      answer.writeInt(records.partitions().size());
      for (TopicPartition each : records.partitions()) {
        List<ConsumerRecord<byte[], byte[]>> some = records.records(each);
        place(each).write(answer);
        answer.writeInt(some.size());
        for (ConsumerRecord<byte[], byte[]> record : some) {
          Receiver.write(record.offset(), -1, record.key(), record.value(), answer);
        }
      }
    }

    @Override
    public String commit(Map<Place, Long> positions) {
      Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
      positions.forEach((place, position) -> offsets.put(partition(place), new OffsetAndMetadata(position)));
      try {
        consumer.commitSync(offsets, COMMITTED);
        return "";
      } catch (KafkaException error) {
        return nameOf(error);
      }
    }

    @Override
    public void seekToBeginning(List<Place> places) {
      consumer.seekToBeginning(partitions(places));
    }

    @Override
    public void hold(boolean paused) {
      this.paused = paused;
      hold(consumer.assignment());
    }

    @Override
    public void close() {
      consumer.close();
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> fresh) {
      try {
        Map<TopicPartition, OffsetAndMetadata> committed = consumer.committed(Set.copyOf(fresh), COMMITTED);
        List<TopicPartition> fromBeginning =
            fresh.stream().filter(each -> committed.get(each) == null).collect(Collectors.toList());
        if (!fromBeginning.isEmpty()) { // none would mean all
          consumer.seekToBeginning(fromBeginning);
        }
      } catch (KafkaException unknown) {
        System.err.println(unknown); // poll asks again, and says which positions there are not
      }
      hold(fresh);
      moved('A', consumer.assignment());
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> given) {
      Set<TopicPartition> kept = new HashSet<>(consumer.assignment());
      kept.removeAll(given);
      moved('R', kept);
    }

    private void moved(char kind, Collection<TopicPartition> owned) {
      requests.moved(kind, consumer.groupMetadata().generationId(), places(owned));
    }

    private void hold(Collection<TopicPartition> partitions) {
      if (paused) {
        consumer.pause(partitions);
      } else {
        consumer.resume(partitions);
      }
    }

    private static TopicPartition partition(Place place) {
      return new TopicPartition(place.topic, place.partition);
    }

    private static List<TopicPartition> partitions(List<Place> places) {
      return places.stream().map(Consuming::partition).collect(Collectors.toList());
    }

    private static Place place(TopicPartition partition) {
      return new Place(partition.topic(), partition.partition());
    }

    private static List<Place> places(Collection<TopicPartition> partitions) {
      return partitions.stream().map(Consuming::place).collect(Collectors.toList());
    }
  }
}
