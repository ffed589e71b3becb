import com.fasterxml.jackson.annotation.JsonIgnore;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.pulsar.client.api.MessageId;
import org.apache.pulsar.client.api.MessageIdAdv;
import org.apache.pulsar.client.api.PulsarClient;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.impl.conf.ClientConfigurationData;

/** A client, with all settings: its own, and those of its producers or consumers. */
final class PulsarConnection {
  static final String NAMESPACE = "namespace"; // the relay's own: tenant and namespace of the topics
  static final String SUBSCRIPTION = "subscriptionName";
  private static final String DELAY = "delay of "; // the relay's own; see clusters/pulsar/java/queues.py
  private static final String SERVICE_URL = "serviceUrl";
  private static final int CLOSE_MS = 5000;

  final PulsarClient client;
  private final Map<String, Object> all;

  PulsarConnection(Map<String, Object> settings) throws PulsarClientException {
    all = settings;
    Map<String, Object> own = settings(ClientConfigurationData.class);
    client = PulsarClient.builder().loadConf(own).serviceUrl(text(SERVICE_URL)).build();
  }

  /** Returns the settings that a configuration class reads; it refuses others. */
  Map<String, Object> settings(Class<?> of) {
    Map<String, Object> some = new HashMap<>(all);
    some.keySet().retainAll(fields(of).keySet());
    return some;
  }

  String text(String name) {
    return String.valueOf(all.get(name));
  }

  /** Returns for how long the messages of a topic wait before they are delivered. */
  long delayMs(String topic) {
    return Long.parseLong(String.valueOf(all.getOrDefault(DELAY + topic, "0")));
  }

  String topic(String name) {
    return "persistent://" + text(NAMESPACE) + "/" + name;
  }

  String partition(Place place) {
    return topic(place.topic) + "-partition-" + place.partition;
  }

  void close() throws InterruptedException {
    try {
      client.closeAsync().get(CLOSE_MS, TimeUnit.MILLISECONDS);
    } catch (TimeoutException | ExecutionException hopeless) {
      System.err.println(hopeless); // the JVM ends now, and its connections with it
    }
  }

  /** Returns the settings that a configuration class reads, with their types. */
  static Map<String, Class<?>> fields(Class<?> of) {
    Map<String, Class<?>> found = new HashMap<>();
    for (Field each : of.getDeclaredFields()) {
      boolean internal = Modifier.isStatic(each.getModifiers()) || Modifier.isTransient(each.getModifiers());
      if (!internal && !each.isAnnotationPresent(JsonIgnore.class)) {
        found.put(each.getName(), each.getType());
      }
    }
    return found;
  }

  /** Returns the position as clusters/pulsar/positions.py packs it; -1 if the broker dropped a duplicate. */
  static long position(MessageId id) {
    MessageIdAdv where = (MessageIdAdv) id;
    if (where.getEntryId() < 0) {
      return -1;
    }
    return where.getLedgerId() << 39 | where.getEntryId() << 12 | Math.max(0, where.getBatchIndex());
  }

  static Throwable causeOf(Throwable error) {
    return error.getCause() instanceof PulsarClientException ? error.getCause() : error;
  }
}
