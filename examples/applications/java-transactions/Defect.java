import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Pays orders, and then commits what it has read: who takes over after a crash in between pays again. */
public final class Defect {
  private static volatile boolean running = true;

  public static void main(String[] args) throws InterruptedException, ExecutionException {
    String endpoints = args[0], orders = args[1], payments = args[2];
    Map<String, Object> reading =
        Map.of(
            "bootstrap.servers", endpoints,
            "group.id", "pay",
            "auto.offset.reset", "earliest",
            "enable.auto.commit", false,
            "max.poll.records", 50,
            "session.timeout.ms", 6000);
    Map<String, Object> writing = Map.of("bootstrap.servers", endpoints);
    var consumer = new KafkaConsumer<>(reading, new StringDeserializer(), new StringDeserializer());
    var producer = new KafkaProducer<>(writing, new StringSerializer(), new StringSerializer());
    stopWhenTold();
    consumer.subscribe(List.of(orders));
    while (running) {
      ConsumerRecords<String, String> records = consumer.poll(Duration.ofMillis(200));
      if (records.isEmpty()) {
        continue;
      }
      Map<TopicPartition, OffsetAndMetadata> reached = new HashMap<>();
      List<Future<RecordMetadata>> sent = new ArrayList<>();
      for (ConsumerRecord<String, String> order : records) {
        Thread.sleep(2); // work
        sent.add(producer.send(new ProducerRecord<>(payments, order.key(), order.value())));
        reached.put(new TopicPartition(order.topic(), order.partition()), new OffsetAndMetadata(order.offset() + 1));
      }
      for (Future<RecordMetadata> payment : sent) {
        payment.get(); // an error ends it
      }
      consumer.commitSync(reached);
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
