import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.exception.MQBrokerException;
import org.apache.rocketmq.client.exception.MQClientException;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.MessageQueueSelector;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageConst;
import org.apache.rocketmq.common.message.MessageQueue;
import org.apache.rocketmq.remoting.exception.RemotingConnectException;
import org.apache.rocketmq.remoting.protocol.ResponseCode;

/**
 * Sends one message after the other, or without waiting: to a partition that is chosen, to the queue of a message
 * group, or to whatever queue the client takes.
 */
final class RocketMQSender implements Sender {
  static final String DELAYS = "delays";
  static final String INSISTS = "insists";
  static final int ANY = -1;

  private static final long AGAIN_MS = 200;
  private static final long SOON_MS = 5;
  private static final long FIND = TimeUnit.SECONDS.toNanos(5);

  // Answers that a broker gives before it appends a message: it is busy, not available or fenced, or refuses it.
  private static final Set<Integer> NOT_WRITTEN =
      Set.of(
          ResponseCode.SYSTEM_BUSY,
          ResponseCode.MESSAGE_ILLEGAL,
          ResponseCode.SERVICE_NOT_AVAILABLE,
          ResponseCode.NO_PERMISSION,
          ResponseCode.TOPIC_NOT_EXIST);

  private static final MessageQueueSelector OF_GROUP = new SelectMessageQueueByHash();

  private final DefaultMQProducer producer;
  private final Completions completions;
  private final int brokers;
  private final String how;
  private final boolean insists;
  private final Map<String, Long> delaysMs = new HashMap<>();
  private final Map<Object, ExecutorService> waiting = new HashMap<>();
  private final AtomicInteger underWay = new AtomicInteger(); // without anybody who waits for it
  private final Set<String> found = new HashSet<>();
  private volatile boolean closing;

  RocketMQSender(Map<String, Object> settings, Completions completions) throws Exception {
    this.completions = completions;
    brokers = Integer.parseInt((String) settings.get(RocketMQRelay.BROKERS));
    how = (String) settings.get(RocketMQRelay.SEND);
    insists = settings.containsKey(INSISTS);
    for (String each : ((String) settings.getOrDefault(DELAYS, "")).split(";")) {
      String[] parts = each.split("=");
      if (parts.length == 2) {
        delaysMs.put(parts[0], Long.valueOf(parts[1]));
      }
    }
    producer = RocketMQRelay.made(() -> new DefaultMQProducer((String) settings.get(RocketMQRelay.GROUP)));
    RocketMQRelay.configure(producer, settings);
    producer.start();
  }

  @Override
  public void send(long token, String topic, int partition, byte[] key, byte[] content) {
    if (found.add(topic)) {
      find(topic);
    }
    String group = key == null ? "" : new String(key);
    Message message = new Message(topic, "", partition == ANY ? "" : group, content);
    if (delaysMs.containsKey(topic)) {
      message.setDelayTimeMs(delaysMs.get(topic));
    }
    if (partition == ANY && key != null) {
      MessageAccessor.putProperty(message, MessageConst.PROPERTY_SHARDING_KEY, group);
    }
    MessageQueue queue = partition == ANY ? null : RocketMQRelay.queue(new Place(topic, partition), brokers);
    if (how.equals("sync")) {
      Object line = queue == null ? topic + ' ' + group : queue;
      ExecutorService own = waiting.computeIfAbsent(line, each -> Executors.newSingleThreadExecutor());
      own.execute(() -> sendAndWait(token, message, queue, group));
    } else {
      sendOn(token, message, queue, group);
    }
  }

  @Override
  public void close(int timeoutMs) throws Exception {
    long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(timeoutMs);
    for (ExecutorService each : waiting.values()) {
      each.shutdown();
      each.awaitTermination(Math.max(0, deadline - System.nanoTime()), TimeUnit.NANOSECONDS);
    }
    while (underWay.get() > 0 && System.nanoTime() < deadline) {
      Thread.sleep(SOON_MS);
    }
    closing = true;
    producer.shutdown();
  }

  /** Learns where a topic is, which may take a moment at the start: a first send would just fail. */
  private void find(String topic) {
    long deadline = System.nanoTime() + FIND;
    while (!closing && System.nanoTime() < deadline) {
      try {
        producer.fetchPublishMessageQueues(topic);
        return;
      } catch (MQClientException | IllegalStateException unknown) {
        pause();
      }
    }
  }

  private void sendAndWait(long token, Message message, MessageQueue queue, String group) {
    boolean once = queue != null || !group.isEmpty(); // otherwise the client sends it again by itself
    while (true) {
      try {
        if (queue != null) {
          tell(token, producer.send(message, queue));
        } else if (group.isEmpty()) {
          tell(token, producer.send(message));
        } else {
          tell(token, producer.send(message, OF_GROUP, group));
        }
        return;
      } catch (Exception error) {
        if (!insists || closing || !once || !isNeverSent(error)) {
          tellFailed(completions, token, error, once);
          return;
        }
      }
      pause();
    }
  }

  /** Tells that a send failed, and whether that proves that nothing was written; if it was tried once only. */
  static void tellFailed(Completions completions, long token, Exception error, boolean once) {
    if (once && isNeverSent(error)) {
      completions.refused(token, nameOf(error));
    } else {
      completions.failed(token, nameOf(error));
    }
  }

  /** Whether an attempt to send a message proves that it was not written. */
  static boolean isNeverSent(Exception error) {
    return error instanceof RemotingConnectException
        || error instanceof IllegalStateException // no name server said where the topic is
        || error instanceof MQClientException && error.getCause() == null
        || error instanceof MQBrokerException
            && NOT_WRITTEN.contains(((MQBrokerException) error).getResponseCode());
  }

  static void pause() {
    try {
      Thread.sleep(AGAIN_MS);
    } catch (InterruptedException ended) {
      throw new IllegalStateException(ended);
    }
  }

  private void sendOn(long token, Message message, MessageQueue queue, String group) {
    SendCallback told = told(token);
    try {
      if (how.equals("oneway")) {
        sendOneway(message, queue, group);
        completions.written(token, -1);
        underWay.decrementAndGet();
      } else if (queue != null) {
        producer.send(message, queue, told);
      } else if (group.isEmpty()) {
        producer.send(message, told);
      } else {
        producer.send(message, OF_GROUP, group, told);
      }
    } catch (Exception error) {
      told.onException(error);
    }
  }

  private void sendOneway(Message message, MessageQueue queue, String group) throws Exception {
    if (queue != null) {
      producer.sendOneway(message, queue);
    } else if (group.isEmpty()) {
      producer.sendOneway(message);
    } else {
      producer.sendOneway(message, OF_GROUP, group);
    }
  }

  private SendCallback told(long token) {
    underWay.incrementAndGet();
    return new SendCallback() {
      @Override
      public void onSuccess(SendResult result) {
        tell(token, result);
        underWay.decrementAndGet();
      }

      @Override
      public void onException(Throwable error) {
        completions.failed(token, nameOf(error));
        underWay.decrementAndGet();
      }
    };
  }

  private void tell(long token, SendResult result) {
    if (result.getSendStatus() == SendStatus.SEND_OK) {
      completions.written(token, result.getQueueOffset());
    } else { // the message is in the master's log, and not what was asked for besides
      completions.failed(token, result.getSendStatus().name());
    }
  }

  private static String nameOf(Throwable error) {
    return error instanceof MQBrokerException
        ? "broker code " + ((MQBrokerException) error).getResponseCode()
        : Relay.nameOf(Relay.rootOf(error));
  }
}
