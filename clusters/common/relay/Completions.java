import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;

/** Tells the worker what became of messages: token, position or -1, time, error. */
final class Completions {
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

  // Never full: what the worker has in flight is bounded, and the client's own threads must not wait for the worker.
  private final LinkedBlockingQueue<Done> done = new LinkedBlockingQueue<>();
  private final DataOutputStream out;
  private final Thread writer = new Thread(this::write, "completions");

  Completions(OutputStream raw) {
    out = new DataOutputStream(raw);
    writer.start();
  }

  /** A message was written; a position of -1 means that the broker dropped it as a duplicate. */
  void written(long token, long position) {
    done.add(new Done(token, position, ""));
  }

  void failed(long token, Throwable error) {
    failed(token, Relay.nameOf(error));
  }

  void failed(long token, String error) {
    done.add(new Done(token, -1, error));
  }

  /** A message that was not even enqueued. */
  void refused(long token, Throwable error) {
    refused(token, Relay.nameOf(error));
  }

  void refused(long token, String error) {
    failed(token, "refused " + error);
  }

  /** Waits until everything is told. */
  void end() throws InterruptedException {
    done.add(END);
    writer.join();
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
