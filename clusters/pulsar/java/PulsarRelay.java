import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;
import org.apache.pulsar.client.api.PulsarClientException;
import org.apache.pulsar.client.api.Schema;
import org.apache.pulsar.client.impl.conf.ClientConfigurationData;
import org.apache.pulsar.client.impl.conf.ConsumerConfigurationData;
import org.apache.pulsar.client.impl.conf.ProducerConfigurationData;
import org.apache.pulsar.client.impl.conf.ReaderConfigurationData;

/** Pulsar's own clients. Settings are fields of its configuration classes, those of the client among the others. */
public final class PulsarRelay extends Relay {
  public static void main(String[] arguments) throws IOException {
    new PulsarRelay().run(arguments);
  }

  @Override
  Sender sender(Map<String, Object> settings, Completions completions) throws Exception {
    return new PulsarSender(new PulsarConnection(settings), completions);
  }

  @Override
  Sender transactional(Map<String, Object> settings, Completions completions) throws Exception {
    return new PulsarTransactions(new PulsarConnection(settings), completions);
  }

  @Override
  Receiver receiver(Map<String, Object> settings, Requests requests) throws Exception {
    return new PulsarReceiver(new PulsarConnection(settings));
  }

  @Override
  Queues queues(Map<String, Object> settings) throws Exception {
    return new PulsarQueues(settings);
  }

  @Override
  void check(String role, Map<String, Object> settings, Refusals refusals) throws Exception {
    Class<?> of = ProducerConfigurationData.class;
    if (!role.equals("producer")) {
      of = role.equals("reader") ? ReaderConfigurationData.class : ConsumerConfigurationData.class;
    }
    Map<String, Class<?>> known = new HashMap<>(PulsarConnection.fields(of));
    known.putAll(PulsarConnection.fields(ClientConfigurationData.class));
    Map<String, Object> tried = new HashMap<>(settings);
    for (Map.Entry<String, Object> each : new TreeMap<>(settings).entrySet()) {
      Class<?> type = known.get(each.getKey());
      if (type == null && !each.getKey().equals(PulsarConnection.NAMESPACE)) {
        refusals.unknown(each.getKey());
      } else if (type != null && type.isEnum() && !isNamed(type, each.getValue())) {
        refusals.refused(each.getKey(), "must be one of " + Arrays.toString(type.getEnumConstants()));
        tried.remove(each.getKey());
      }
    }
    try {
      PulsarConnection connection = new PulsarConnection(tried);
      if (role.equals("producer")) {
        connection.client.newProducer(Schema.BYTES).loadConf(connection.settings(of));
      } else if (role.equals("reader")) {
        connection.client.newReader(Schema.BYTES).loadConf(connection.settings(of));
      } else {
        connection.client.newConsumer(Schema.BYTES).loadConf(connection.settings(of));
      }
    } catch (RuntimeException | PulsarClientException error) {
      refusals.refused("", String.valueOf(rootOf(error).getMessage()).split("\n")[0]);
    }
  }

  private static boolean isNamed(Class<?> type, Object name) {
    return Arrays.stream(type.getEnumConstants()).anyMatch(constant -> ((Enum<?>) constant).name().equals(name));
  }
}
