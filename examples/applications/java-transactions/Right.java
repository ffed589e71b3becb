import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Pays orders in transactions that commit what it has read, too; an error ends it, and its supervisor starts it again. */
public final class Right {
  private static volatile boolean running = true;

  public static void main(String[] args) throws InterruptedException {
    String endpoints = args[0], orders = args[1], payments = args[2], instance = args[3];
    Map<String, Object> reading =
        Map.of(
            "bootstrap.servers", endpoints,
            "group.id", "pay",
            "auto.offset.reset", "earliest",
            "enable.auto.commit", false,
            "max.poll.records", 50,
            "session.timeout.ms", 6000);
    Map<String, Object> writing = Map.of("bootstrap.servers", endpoints, "transactional.id", "pay-" + instance);
    var consumer = new KafkaConsumer<>(reading, new StringDeserializer(), new StringDeserializer());
    var producer = new KafkaProducer<>(writing, new StringSerializer(), new StringSerializer());
    stopWhenTold();
    producer.initTransactions();
    consumer.subscribe(List.of(orders));
    while (running) {
      ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
      if (records.isEmpty()) {
        continue;
      }
      Map<TopicPartition, OffsetAndMetadata> reached = new HashMap<>();
      producer.beginTransaction();
      for (ConsumerRecord<String, String> order : records) {
        Thread.sleep(2); // work
        producer.send(new ProducerRecord<>(payments, order.key(), order.value()));
        reached.put(new TopicPartition(order.topic(), order.partition()), new OffsetAndMetadata(order.offset() + 1));
      }
      producer.sendOffsetsToTransaction(reached, consumer.groupMetadata());
      producer.commitTransaction();
    }
    producer.close();
    consumer.close();
  }

  private static void stopWhenTold() {
    Thread main = Thread.currentThread();
    Thread stop =
        new Thread(
            () -> {
              running = false;
              try {
                main.join(5000);
              } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
              }
            });
    Runtime.getRuntime().addShutdownHook(stop);
  }
}
