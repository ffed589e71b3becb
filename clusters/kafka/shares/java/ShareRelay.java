import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.KafkaException;

/** Kafka's own share consumer, which releases before 4.2 do not have for production. */
public final class ShareRelay extends Relay {
  public static void main(String[] arguments) throws IOException {
    new ShareRelay().run(arguments);
  }

  @Override
  Queues queues(Map<String, Object> settings) {
    return new ShareQueues(settings);
  }

  @Override
  void check(String role, Map<String, Object> settings, Refusals refusals) {
    Set<String> known = ConsumerConfig.configNames();
    new TreeSet<>(settings.keySet()).stream().filter(name -> !known.contains(name)).forEach(refusals::unknown);
    try {
      ShareQueues.connect(settings).close();
    } catch (KafkaException error) {
      refusals.refused("", String.valueOf(rootOf(error).getMessage()));
    }
  }
}
