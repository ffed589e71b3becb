import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A system's consumers of queues, each of which receives in a thread of its own; every delivery is settled. */
abstract class Queues {
  private static final int UNLIMITED = 1 << 20;
  private static final long AGAIN_MS = 200;
  private static final long ENDS_MS = 8000;
  private static final long SETTLES_MS = 5000; // the worker waits meanwhile

  /** A delivery. */
  interface Arrival {
    /** The queue that it came from, by its name in the system. */
    String queue();

    /** The queue that it was in before, if it is a dead letter and tells so, else empty. */
    String origin();

    byte[] content();

    /** How often it was delivered before. */
    int times();

    CompletableFuture<?> acknowledge();

    /** Asks for it to be delivered again. */
    CompletableFuture<?> refuse();

    /** Gives it up, where the system can do that. */
    default CompletableFuture<?> reject() {
      return acknowledge();
    }

    /** It is settled: there is room for another one. */
    void leave();
  }

  /** Receives from one queue. */
  interface Source {
    /** Returns what is there, after a while without anything; connects first if that is needed. */
    List<Arrival> receive() throws Exception;
  }

  private final BlockingQueue<Arrival> arrived = new LinkedBlockingQueue<>();
  private final Map<Long, Arrival> unsettled = new HashMap<>();
  private final List<Thread> receivers = new ArrayList<>();
  private volatile boolean ends;
  private volatile String error = "";
  private long tags;

  /** Returns room for so many unsettled deliveries; 0: for any number. */
  static Semaphore room(int prefetch) {
    return new Semaphore(prefetch == 0 ? UNLIMITED : prefetch);
  }

  /** Returns what receives from a queue, which the worker describes. */
  abstract Source source(List<String> described);

  /** Disconnects, once nothing is received any more. */
  abstract void close() throws Exception;

  /** Serves a worker until its input ends, or it says that it needs no more. */
  void serve(DataInputStream in, OutputStream out) throws Exception {
    while (true) {
      ByteArrayOutputStream content = new ByteArrayOutputStream();
      DataOutputStream answer = new DataOutputStream(content);
      int kind = in.readByte();
      switch (kind) {
        case 'q':
          consume(texts(in));
          break;
        case 'p':
          poll(in.readInt(), in.readInt(), answer);
          break;
        case 'a':
        case 'n':
        case 'r':
          answer.writeUTF(settle(tags(in), kind));
          break;
        case 'e':
          answer.writeInt(end() ? 1 : 0);
          break;
        default:
          return;
      }
      DataOutputStream whole = new DataOutputStream(out);
      whole.writeByte('k');
      whole.writeInt(content.size());
      content.writeTo(whole);
      whole.flush();
    }
  }

  private void consume(List<String> described) {
    Source source = source(described);
    Thread receiver = new Thread(() -> receive(source), "receive-" + described.get(0));
    receiver.setDaemon(true);
    receiver.start();
    receivers.add(receiver);
  }

  private void receive(Source source) {
    while (!ends) {
      try {
        arrived.addAll(source.receive());
      } catch (InterruptedException ended) {
        return;
      } catch (Exception failure) {
        error = Relay.nameOf(Relay.rootOf(failure));
        try {
          Thread.sleep(AGAIN_MS);
        } catch (InterruptedException ended) {
          return;
        }
      }
    }
  }

  /** Receives no more; returns whether nothing that was received is left, also by what still waited at a broker. */
  private boolean end() throws Exception {
    ends = true;
    long until = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ENDS_MS);
    for (Thread each : receivers) {
      each.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(until - System.nanoTime())));
      if (each.isAlive()) {
        return false;
      }
    }
    close();
    return error.isEmpty() && arrived.isEmpty() && unsettled.isEmpty();
  }

  private void poll(int timeoutMs, int most, DataOutputStream answer) throws Exception {
    List<Arrival> taken = new ArrayList<>();
    Arrival first = arrived.poll(timeoutMs, TimeUnit.MILLISECONDS);
    if (first != null) {
      taken.add(first);
      arrived.drainTo(taken, most - 1);
    }
    answer.writeUTF(error);
    error = "";
    answer.writeInt(taken.size());
    for (Arrival each : taken) {
      unsettled.put(++tags, each);
      answer.writeUTF(each.queue());
      answer.writeUTF(each.origin());
      answer.writeInt(1);
      Receiver.write(tags, each.times(), null, each.content(), answer);
    }
  }

  private String settle(List<Long> chosen, int kind) throws InterruptedException {
    List<Arrival> settled = new ArrayList<>();
    List<CompletableFuture<?>> begun = new ArrayList<>();
    for (long tag : chosen) {
      Arrival each = unsettled.remove(tag);
      settled.add(each);
      begun.add(kind == 'a' ? each.acknowledge() : kind == 'n' ? each.refuse() : each.reject());
    }
    String failed = "";
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(SETTLES_MS);
    for (CompletableFuture<?> each : begun) {
      try {
        each.get(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
      } catch (ExecutionException | TimeoutException failure) {
        failed = Relay.nameOf(Relay.rootOf(failure));
      }
    }
    settled.forEach(Arrival::leave);
    return failed;
  }

  private static List<String> texts(DataInputStream in) throws IOException {
    List<String> read = new ArrayList<>();
    for (int left = in.readInt(); left > 0; left--) {
      read.add(in.readUTF());
    }
    return read;
  }

  private static List<Long> tags(DataInputStream in) throws IOException {
    List<Long> read = new ArrayList<>();
    for (int left = in.readInt(); left > 0; left--) {
      read.add(in.readLong());
    }
    return read;
  }
}
