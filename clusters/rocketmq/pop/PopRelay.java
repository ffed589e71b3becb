import java.io.IOException;
import java.util.Map;

/** RocketMQ's client by gRPC, whose classes do not go together with those of its servers. */
public final class PopRelay extends Relay {
  public static void main(String[] arguments) throws IOException {
    new PopRelay().run(arguments);
  }

  @Override
  Queues queues(Map<String, Object> settings) {
    return new PopQueues(settings);
  }
}
