import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * A system's own client for one chaoskit worker, which writes to its standard input, and reads from the descriptor that
 * is its second argument, or from its standard output.
 *
 * <p>See clusters/common/relay for the other end. It exits when its input closes, and so with its worker. Times are
 * those of System.nanoTime, which is CLOCK_MONOTONIC on Linux, the worker's clock.
 */
abstract class Relay {
  private static final String CHECK = "check-";
  private static final String TRANSACTIONAL = "transactional";

  /** What a client refuses of settings. */
  static final class Refusals {
    private final StringBuilder told = new StringBuilder();

    /** There is no such setting. */
    void unknown(String name) {
      told.append(name).append("\t\n");
    }

    /** A value is of no use; without a name, it is not known whose. */
    void refused(String name, String cause) {
      told.append(name).append('\t').append(cause.replace('\n', ' ')).append('\n');
    }
  }

  Sender sender(Map<String, Object> settings, Completions completions) throws Exception {
    throw new UnsupportedOperationException();
  }

  Sender transactional(Map<String, Object> settings, Completions completions) throws Exception {
    throw new UnsupportedOperationException();
  }

  Receiver receiver(Map<String, Object> settings, Requests requests) throws Exception {
    throw new UnsupportedOperationException();
  }

  void check(String role, Map<String, Object> settings, Refusals refusals) throws Exception {
    throw new UnsupportedOperationException();
  }

  Queues queues(Map<String, Object> settings) throws Exception {
    throw new UnsupportedOperationException();
  }

  void run(String[] arguments) throws IOException {
    String role = arguments[0];
    OutputStream raw = new FileOutputStream(arguments.length > 1 ? descriptor(arguments[1]) : FileDescriptor.out);
    System.setOut(System.err); // logging must not get between the frames
    DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 17));
    Map<String, Object> settings = new HashMap<>();
    for (int left = in.readInt(); left > 0; left--) {
      settings.put(in.readUTF(), in.readUTF());
    }
    try {
      if (role.startsWith(CHECK)) {
        Refusals refusals = new Refusals();
        check(role.substring(CHECK.length()), settings, refusals);
        raw.write(refusals.told.toString().getBytes(StandardCharsets.UTF_8));
      } else if (role.equals("producer") || role.equals(TRANSACTIONAL)) {
        Completions completions = new Completions(raw);
        send(in, role.equals("producer") ? sender(settings, completions) : transactional(settings, completions));
        completions.end();
      } else if (role.equals("consumer")) {
        Requests requests = new Requests(in, raw);
        requests.serve(receiver(settings, requests));
      } else if (role.equals("queues")) {
        queues(settings).serve(in, raw);
      } else {
        throw new IllegalArgumentException(role);
      }
    } catch (EOFException ended) {
      Runtime.getRuntime().halt(0); // the worker is gone
    } catch (Exception failure) { // threads of the client must not outlive this one
      failure.printStackTrace();
      Runtime.getRuntime().halt(1);
    }
    raw.flush();
    Runtime.getRuntime().halt(0);
  }

  /** Java has no other way to open an inherited descriptor where /proc may be that of other processes. */
  private static FileDescriptor descriptor(String number) {
    try {
      Constructor<FileDescriptor> constructor = FileDescriptor.class.getDeclaredConstructor(int.class);
      constructor.setAccessible(true);
      return constructor.newInstance(Integer.parseInt(number));
    } catch (ReflectiveOperationException impossible) {
      throw new IllegalStateException(impossible);
    }
  }

  static String nameOf(Throwable error) {
    return error.getClass().getSimpleName();
  }

  static Throwable rootOf(Throwable error) {
    Throwable cause = error;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    return cause;
  }

  private static void send(DataInputStream in, Sender sender) throws Exception {
    List<String> topics = new ArrayList<>();
    while (true) {
      int kind = in.readByte();
      if (kind == 't') {
        topics.add(in.readUTF());
      } else if (kind == 's') {
        sender.send(in.readLong(), topics.get(in.readShort()), in.readInt(), bytes(in), bytes(in));
      } else if (kind == 'e') {
        sender.end(in.readLong(), in.readBoolean());
      } else {
        sender.close(in.readInt());
        return;
      }
    }
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
}
