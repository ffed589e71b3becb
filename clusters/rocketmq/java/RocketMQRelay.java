import java.beans.PropertyDescriptor;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.MessageQueue;

/** RocketMQ's own clients. */
public final class RocketMQRelay extends Relay {
  static final String GROUP = "group";
  static final String BROKERS = "brokers";
  static final String SEND = "send";

  private static final int TRIES = 50;
  private static final long AGAIN_MS = 50;

  private static final Set<String> OURS =
      Set.of(
          GROUP,
          BROKERS,
          SEND,
          RocketMQSender.DELAYS,
          RocketMQSender.INSISTS,
          RocketMQTransactions.END,
          RocketMQTransactions.CHECK,
          RocketMQTransactions.ASKED_MS);

  // Properties of a producer whose setters have the property's own name.
  private static final Set<String> PLAIN = Set.of("batchMaxBytes", "batchMaxDelayMs", "totalBatchMaxBytes");

  public static void main(String[] arguments) throws IOException {
    new RocketMQRelay().run(arguments);
  }

  @Override
  Sender sender(Map<String, Object> settings, Completions completions) throws Exception {
    return new RocketMQSender(settings, completions);
  }

  @Override
  Sender transactional(Map<String, Object> settings, Completions completions) throws Exception {
    return new RocketMQTransactions(settings, completions);
  }

  @Override
  Receiver receiver(Map<String, Object> settings, Requests requests) throws Exception {
    return new RocketMQReceiver(settings, requests);
  }

  @Override
  void check(String role, Map<String, Object> settings, Refusals refusals) throws Exception {
    Object client =
        role.equals("producer")
            ? made(() -> new DefaultMQProducer("check"))
            : made(() -> new DefaultLitePullConsumer("check"));
    for (Map.Entry<String, Object> each : new HashMap<>(settings).entrySet()) {
      if (isOurs(each.getKey())) {
        continue;
      }
      try {
        set(client, each.getKey(), (String) each.getValue());
      } catch (NoSuchFieldException unknown) {
        refusals.unknown(each.getKey());
      } catch (IllegalArgumentException refused) {
        refusals.refused(each.getKey(), String.valueOf(refused.getMessage()));
      }
    }
  }

  /**
   * Makes a client, which looks through the network interfaces of this machine for an address, and breaks if somebody
   * removes one meanwhile (NetworkUtil.getLocalAddress).
   */
  static <T> T made(Supplier<T> client) throws InterruptedException {
    for (int tries = 1; tries < TRIES; tries++) {
      try {
        return client.get();
      } catch (NullPointerException interfaceGone) {
        Thread.sleep(AGAIN_MS);
      }
    }
    return client.get();
  }

  /** Sets properties of a client by their names. */
  static void configure(Object client, Map<String, Object> settings) throws NoSuchFieldException {
    for (Map.Entry<String, Object> each : settings.entrySet()) {
      if (!isOurs(each.getKey())) {
        set(client, each.getKey(), (String) each.getValue());
      }
    }
  }

  /** A partition of a topic is a queue of one of the brokers, which take turns. */
  static MessageQueue queue(Place place, int brokers) {
    return new MessageQueue(place.topic, "broker-" + place.partition % brokers, place.partition / brokers);
  }

  static Place place(MessageQueue queue, int brokers) {
    int broker = Integer.parseInt(queue.getBrokerName().substring("broker-".length()));
    return new Place(queue.getTopic(), queue.getQueueId() * brokers + broker);
  }

  private static boolean isOurs(String name) {
    return OURS.contains(name);
  }

  private static void set(Object client, String name, String value) throws NoSuchFieldException {
    try {
      PropertyDescriptor property = new PropertyDescriptor(name, client.getClass(), null, setter(name));
      property.getWriteMethod().invoke(client, parsed(property.getPropertyType(), value));
    } catch (java.beans.IntrospectionException unknown) {
      throw new NoSuchFieldException(name);
    } catch (ReflectiveOperationException refused) {
      throw new IllegalArgumentException(rootOf(refused).getMessage(), refused);
    }
  }

  private static String setter(String name) {
    return PLAIN.contains(name) ? name : "set" + Character.toUpperCase(name.charAt(0)) + name.substring(1);
  }

  private static Object parsed(Class<?> kind, String value) {
    if (kind == int.class) {
      return Integer.valueOf(value);
    } else if (kind == long.class) {
      return Long.valueOf(value);
    } else if (kind == boolean.class && (value.equals("true") || value.equals("false"))) {
      return Boolean.valueOf(value);
    } else if (kind == String.class) {
      return value;
    }
    throw new IllegalArgumentException("a value of type " + kind.getSimpleName() + " is needed, not " + value);
  }
}
