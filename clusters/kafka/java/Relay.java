import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.LinkedBlockingQueue;
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
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Kafka's own client for one chaoskit worker, which talks to it through standard input and output.
 *
 * <p>See clusters/kafka/relay.py for the other end. It exits when its input closes, and so with its worker. Times are
 * those of System.nanoTime, which is CLOCK_MONOTONIC on Linux, the worker's clock.
 */
public final class Relay {
  private Relay() {}

  public static void main(String[] arguments) throws Exception {
    OutputStream raw = new FileOutputStream(FileDescriptor.out);
    System.setOut(System.err); // logging must not get between the frames
    DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 17));
    Map<String, Object> settings = new HashMap<>();
    for (int left = in.readInt(); left > 0; left--) {
      settings.put(in.readUTF(), in.readUTF());
    }
    try {
      switch (arguments[0]) {
        case "check-producer":
          check(raw, settings, ProducerConfig.configNames(), () -> new KafkaProducer<>(serialized(settings)).close());
          break;
        case "check-consumer":
          check(raw, settings, ConsumerConfig.configNames(), () -> new KafkaConsumer<>(deserialized(settings)).close());
          break;
        case "producer":
          new Producing(settings, raw).run(in);
          break;
        default:
          new Consuming(settings, in, new DataOutputStream(raw)).run();
      }
    } catch (EOFException ended) {
      Runtime.getRuntime().halt(0); // the worker is gone
    }
    raw.flush();
    Runtime.getRuntime().halt(0);
  }

  /** Writes a line for each name that there is not, and one without a name for what else is wrong. */
  private static void check(OutputStream out, Map<String, Object> settings, Set<String> known, Runnable connect)
      throws IOException {
    StringBuilder told = new StringBuilder();
    for (String name : new TreeSet<>(settings.keySet())) {
      if (!known.contains(name)) {
        told.append(name).append("\t\n");
      }
    }
    try {
      connect.run();
    } catch (KafkaException error) {
      Throwable cause = error;
      while (cause.getCause() != null) {
        cause = cause.getCause();
      }
      told.append('\t').append(String.valueOf(cause.getMessage()).replace('\n', ' ')).append('\n');
    }
    out.write(told.toString().getBytes("UTF-8"));
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

  private static String nameOf(Exception error) {
    return error.getClass().getSimpleName();
  }

  private static byte[] bytes(DataInputStream in) throws IOException {
    int size = in.readInt();
    if (size < 0) {
      return null;
    }
    byte[] content = new byte[size];
    in.readFully(content);
    return content;
  }

  /** Sends what it reads, and writes completions: token, position or -1, time, error. */
  private static final class Producing {
    private static final class Done {
      final long token;
      final long position;
      final long atNs = System.nanoTime();
      final String error;

      Done(long token, long position, String error) {
        this.token = token;
        this.position = position;
        this.error = error;
      }
    }

    private static final Done END = new Done(-1, -1, "");

    private final Map<String, Object> settings;
    private final DataOutputStream out;
    // Never full: what the worker has in flight is bounded, and Kafka's own thread must not wait for the worker.
    private final LinkedBlockingQueue<Done> done = new LinkedBlockingQueue<>();
    private final List<String> topics = new ArrayList<>();
    private KafkaProducer<byte[], byte[]> producer;

    Producing(Map<String, Object> settings, OutputStream raw) {
      this.settings = serialized(settings);
      this.out = new DataOutputStream(raw);
      this.producer = new KafkaProducer<>(this.settings);
    }

    void run(DataInputStream in) throws Exception {
      Thread writer = new Thread(this::write, "completions");
      writer.start();
      while (true) {
        int kind = in.readByte();
        if (kind == 't') {
          topics.add(in.readUTF());
        } else if (kind == 's') {
          send(in.readLong(), topics.get(in.readShort()), in.readInt(), bytes(in), bytes(in));
        } else {
          producer.close(Duration.ofMillis(in.readInt()));
          done.add(END);
          writer.join();
          return;
        }
      }
    }

    private void send(long token, String topic, int partition, byte[] key, byte[] content) {
      try {
        producer.send(
            new ProducerRecord<>(topic, partition, key, content), (metadata, error) -> tell(token, metadata, error));
      } catch (KafkaException error) { // nothing was enqueued: the producer is in an error that it cannot leave
        done.add(new Done(token, -1, "refused " + nameOf(error)));
        producer.close(Duration.ZERO);
        producer = new KafkaProducer<>(settings);
      }
    }

    private void tell(long token, RecordMetadata metadata, Exception error) {
      long position = error == null && metadata.hasOffset() ? metadata.offset() : -1;
      done.add(new Done(token, position, error == null ? "" : nameOf(error)));
    }

    private void write() {
      List<Done> some = new ArrayList<>();
      try {
        while (true) {
          some.add(done.take());
          done.drainTo(some);
          ByteArrayOutputStream content = new ByteArrayOutputStream(64 * some.size());
          DataOutputStream frames = new DataOutputStream(content);
          for (Done each : some) {
            if (each == END) {
              out.write(content.toByteArray());
              return;
            }
            frames.writeLong(each.token);
            frames.writeLong(each.position);
            frames.writeLong(each.atNs);
            frames.writeUTF(each.error);
          }
          out.write(content.toByteArray());
          some.clear();
        }
      } catch (IOException | InterruptedException gone) {
        Runtime.getRuntime().halt(0);
      }
    }
  }

  /** Answers one request after the other; while it polls or closes, it may ask what to do with partitions. */
  private static final class Consuming implements ConsumerRebalanceListener {
    private static final Duration COMMITTED = Duration.ofSeconds(10);

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final DataInputStream in;
    private final DataOutputStream out;
    private boolean paused;

    Consuming(Map<String, Object> settings, DataInputStream in, DataOutputStream out) {
      this.consumer = new KafkaConsumer<>(deserialized(settings));
      this.in = in;
      this.out = out;
    }

    void run() throws IOException {
      while (serve()) {}
    }

    /** Serves one request; returns false after the one that ends this. */
    private boolean serve() throws IOException {
      ByteArrayOutputStream content = new ByteArrayOutputStream();
      DataOutputStream answer = new DataOutputStream(content);
      int kind = in.readByte();
      switch (kind) {
        case 'a':
          List<TopicPartition> wanted = partitions();
          consumer.assign(wanted);
          consumer.seekToBeginning(wanted); // never none
          break;
        case 's':
          List<String> topics = new ArrayList<>();
          for (int left = in.readInt(); left > 0; left--) {
            topics.add(in.readUTF());
          }
          consumer.subscribe(topics, this);
          break;
        case 'p':
          poll(Duration.ofMillis(in.readInt()), answer);
          break;
        case 'c':
          answer.writeUTF(commit());
          break;
        case 'b':
          consumer.seekToBeginning(partitions());
          break;
        case 'h':
          paused = in.readBoolean();
          hold(consumer.assignment());
          break;
        case 'x':
          consumer.close();
          write('k', content.toByteArray());
          return false;
        default: // the worker has done what it wanted before partitions move
          return false;
      }
      write('k', content.toByteArray());
      return true;
    }

    private void write(char kind, byte[] content) throws IOException {
      ByteArrayOutputStream frame = new ByteArrayOutputStream(content.length + 5);
      DataOutputStream whole = new DataOutputStream(frame);
      whole.writeByte(kind);
      whole.writeInt(content.length);
      whole.write(content);
      out.write(frame.toByteArray());
      out.flush();
    }

    private List<TopicPartition> partitions() throws IOException {
      List<TopicPartition> read = new ArrayList<>();
      for (int left = in.readInt(); left > 0; left--) {
        read.add(new TopicPartition(in.readUTF(), in.readInt()));
      }
      return read;
    }

    private void poll(Duration timeout, DataOutputStream answer) throws IOException {
      ConsumerRecords<byte[], byte[]> records = ConsumerRecords.empty();
      Collection<TopicPartition> lost = List.of();
      String error = "";
      try {
        records = consumer.poll(timeout);
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
      write(lost, answer);
      answer.writeInt(records.partitions().size());
      for (TopicPartition each : records.partitions()) {
        List<ConsumerRecord<byte[], byte[]>> some = records.records(each);
        answer.writeUTF(each.topic());
        answer.writeInt(each.partition());
        answer.writeInt(some.size());
        for (ConsumerRecord<byte[], byte[]> record : some) {
          answer.writeLong(record.offset());
          write(record.key(), answer);
          write(record.value(), answer);
        }
      }
    }

    private static void write(byte[] content, DataOutputStream answer) throws IOException {
      answer.writeInt(content == null ? -1 : content.length);
      if (content != null) {
        answer.write(content);
      }
    }

    private static void write(Collection<TopicPartition> partitions, DataOutputStream answer) throws IOException {
      answer.writeInt(partitions.size());
      for (TopicPartition each : partitions) {
        answer.writeUTF(each.topic());
        answer.writeInt(each.partition());
      }
    }

    private String commit() throws IOException {
      Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
      for (int left = in.readInt(); left > 0; left--) {
        positions.put(new TopicPartition(in.readUTF(), in.readInt()), new OffsetAndMetadata(in.readLong()));
      }
      try {
        consumer.commitSync(positions, COMMITTED);
        return "";
      } catch (KafkaException error) {
        return nameOf(error);
      }
    }

    private void hold(Collection<TopicPartition> partitions) {
      if (paused) {
        consumer.pause(partitions);
      } else {
        consumer.resume(partitions);
      }
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
      ask('A');
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> given) {
      ask('R');
    }

    /** Tells the worker what happens to partitions, and serves it until it says that this may go on. */
    private void ask(char kind) {
      try {
        ByteArrayOutputStream content = new ByteArrayOutputStream();
        DataOutputStream told = new DataOutputStream(content);
        told.writeInt(consumer.groupMetadata().generationId());
        write(consumer.assignment(), told);
        write(kind, content.toByteArray());
        while (serve()) {}
      } catch (IOException gone) {
        Runtime.getRuntime().halt(0);
      }
    }
  }
}
