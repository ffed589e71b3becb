import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.transaction.Transaction;

/** Sends messages in transactions, one after the other; each begins with its first message. */
final class PulsarTransactions implements Sender {
  private static final int LASTS_S = 30;
  private static final String ABORTED = "TransactionHasOperationFailedException"; // it was aborted instead

  private final PulsarConnection connection;
  private final PulsarSender sender;
  private final Completions completions;
  private final ExecutorService line = Executors.newSingleThreadExecutor();
  private Transaction open;
  private boolean broken;

  PulsarTransactions(PulsarConnection connection, Completions completions) {
    this.connection = connection;
    this.completions = completions;
    sender = new PulsarSender(connection, completions);
  }

  @Override
  public void send(long token, String topic, int partition, byte[] key, byte[] content) {
    line.execute(() -> sendInside(token, new Place(topic, partition), key, content));
  }

  @Override
  public void end(long token, boolean commit) {
    line.execute(() -> endOpen(token, commit));
  }

  @Override
  public void close(int timeoutMs) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    line.shutdown();
    line.awaitTermination(timeoutMs, TimeUnit.MILLISECONDS);
    sender.close((int) Math.max(0, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime())));
  }

  private void sendInside(long token, Place place, byte[] key, byte[] content) {
    if (open == null && !broken) {
      begin();
    }
    if (broken) {
      completions.refused(token, "NoTransaction");
    } else {
      sender.send(token, place, key, content, open);
    }
  }

  private void begin() {
    try {
      open = connection.client.newTransaction().withTransactionTimeout(LASTS_S, TimeUnit.SECONDS).build().get();
    } catch (InterruptedException | ExecutionException error) {
      System.err.println(error);
      broken = true;
    }
  }

  private void endOpen(long token, boolean commit) {
    Transaction ending = open;
    boolean had = !broken;
    open = null;
    broken = false;
    if (ending == null) {
      if (had) {
        completions.written(token, -1);
      } else {
        completions.refused(token, "NoTransaction");
      }
      return;
    }
    CompletableFuture<Void> end = commit ? ending.commit() : ending.abort();
    end.whenComplete((nothing, error) -> tell(token, error));
  }

  private void tell(long token, Throwable error) {
    if (error == null) {
      completions.written(token, -1);
      return;
    }
    String name = Relay.nameOf(Relay.rootOf(error));
    if (name.equals(ABORTED)) {
      completions.refused(token, name);
    } else {
      completions.failed(token, name);
    }
  }
}
