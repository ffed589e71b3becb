import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.Map;

/** RocketMQ's client by gRPC, whose classes do not go together with those of its servers. */
public final class PopRelay extends Relay {
  public static void main(String[] arguments) throws IOException {
    new PopRelay().run(arguments[0]);
  }

  @Override
  void serve(String role, Map<String, Object> settings, DataInputStream in, OutputStream out) throws Exception {
    new PopQueues(settings).serve(in, out);
  }
}
