import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageClientIDSetter;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageExt;

/** Sends half messages, tells the broker how each ends, and answers when it asks. */
final class RocketMQTransactions implements Sender, TransactionListener {
  static final String END = "end";
  static final String CHECK = "check";
  static final String ASKED_MS = "asked_ms";

  private static final class Half {
    final Message message;
    final SendResult result;

    Half(Message message, SendResult result) {
      this.message = message;
      this.result = result;
    }
  }

  private static final long SOON_MS = 20;

  private final TransactionMQProducer producer;
  private final Completions completions;
  private final String group;
  private final int brokers;
  private final boolean tells;
  private final boolean answers;
  private final long askedMs;
  private final ExecutorService line = Executors.newSingleThreadExecutor();
  private final Map<String, LocalTransactionState> decided = new ConcurrentHashMap<>();
  private final Set<String> unasked = ConcurrentHashMap.newKeySet();
  private final List<Message> sent = new ArrayList<>();
  private final List<Half> halves = new ArrayList<>();
  private volatile long stays = System.nanoTime();

  RocketMQTransactions(Map<String, Object> settings, Completions completions) throws Exception {
    this.completions = completions;
    group = (String) settings.get(RocketMQRelay.GROUP);
    brokers = Integer.parseInt((String) settings.get(RocketMQRelay.BROKERS));
    tells = settings.get(END).equals("sent");
    answers = settings.get(CHECK).equals("answered");
    askedMs = Long.parseLong((String) settings.get(ASKED_MS));
    producer = RocketMQRelay.made(() -> new TransactionMQProducer(group));
    producer.setTransactionListener(this);
    RocketMQRelay.configure(producer, settings);
    producer.start();
  }

  @Override
  public void send(long token, String topic, int partition, byte[] key, byte[] content) {
    line.execute(() -> sendHalf(token, new Place(topic, partition), key, content));
  }

  @Override
  public void end(long token, boolean commit) {
    line.execute(() -> endAll(token, commit));
  }

  @Override
  public void close(int timeoutMs) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    line.shutdown();
    line.awaitTermination(timeoutMs, TimeUnit.MILLISECONDS);
    while (answers && (!unasked.isEmpty() || System.nanoTime() < stays) && System.nanoTime() < deadline) {
      Thread.sleep(SOON_MS); // otherwise nobody would be there to be asked
    }
    producer.shutdown();
  }

  /** The broker may not have got what it was told without an answer, and asks once it is back. */
  private void troubled() {
    stays = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(askedMs);
  }

  @Override
  public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
    return LocalTransactionState.UNKNOW;
  }

  @Override
  public LocalTransactionState checkLocalTransaction(MessageExt message) {
    LocalTransactionState decision = decided.get(message.getTransactionId());
    if (!answers || decision == null) {
      return LocalTransactionState.UNKNOW;
    }
    unasked.remove(message.getTransactionId());
    return decision;
  }

  private void sendHalf(long token, Place place, byte[] key, byte[] content) {
    Message message = new Message(place.topic, "", key == null ? "" : new String(key), content);
    MessageAccessor.putProperty(message, MessageConst.PROPERTY_TRANSACTION_PREPARED, "true");
    MessageAccessor.putProperty(message, MessageConst.PROPERTY_PRODUCER_GROUP, group);
    MessageClientIDSetter.setUniqID(message);
    sent.add(message);
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(producer.getSendMsgTimeout());
    while (true) {
      try {
        SendResult result = producer.send(message, RocketMQRelay.queue(place, brokers));
        if (result.getSendStatus() == SendStatus.SEND_OK) {
          halves.add(new Half(message, result));
          completions.written(token, -1);
        } else {
          troubled();
          completions.failed(token, result.getSendStatus().name());
        }
        return;
      } catch (Exception error) {
        troubled();
        if (!RocketMQSender.isNeverSent(error) || System.nanoTime() > deadline) {
          RocketMQSender.tellFailed(completions, token, error, true);
          return;
        }
      }
      RocketMQSender.pause();
    }
  }

  /** Commits if all halves are stored, and if that is asked for; otherwise rolls all of them back. */
  private void endAll(long token, boolean commit) {
    boolean commits = commit && halves.size() == sent.size();
    LocalTransactionState state =
        commits ? LocalTransactionState.COMMIT_MESSAGE : LocalTransactionState.ROLLBACK_MESSAGE;
    for (Message each : sent) {
      decided.put(MessageClientIDSetter.getUniqID(each), state);
    }
    if (!tells) {
      halves.forEach(each -> unasked.add(MessageClientIDSetter.getUniqID(each.message)));
    }
    String failed = commit && !commits ? "not all halves were stored" : "";
    for (Half each : tells ? halves : List.<Half>of()) {
      try {
        producer.getDefaultMQProducerImpl().endTransaction(each.message, each.result, state, null);
      } catch (Exception error) { // nobody waits for an answer: the broker will ask
        troubled();
        System.err.println(error);
      }
    }
    sent.clear();
    halves.clear();
    if (failed.isEmpty()) {
      completions.written(token, -1);
    } else {
      completions.failed(token, failed);
    }
  }
}
