import java.io.DataOutputStream;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.rocketmq.client.consumer.DefaultLitePullConsumer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.MessageExt;
import org.apache.rocketmq.common.message.MessageQueue;

/** Pulls from queues: those that it is told, or those that fall to it in its group. */
final class RocketMQReceiver implements Receiver {
  private static final int BATCHES = 50;

  private final DefaultLitePullConsumer consumer;
  private final Requests requests;
  private final int brokers;
  private final Map<String, Set<MessageQueue>> divided = new LinkedHashMap<>();
  private Set<MessageQueue> owned = Set.of();
  private boolean paused;

  RocketMQReceiver(Map<String, Object> settings, Requests requests) throws Exception {
    this.requests = requests;
    brokers = Integer.parseInt((String) settings.get(RocketMQRelay.BROKERS));
    consumer = RocketMQRelay.made(() -> new DefaultLitePullConsumer((String) settings.get(RocketMQRelay.GROUP)));
    consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
    RocketMQRelay.configure(consumer, settings);
  }

  @Override
  public void assign(List<Place> places) throws Exception {
    // A group of its own has no positions yet: it begins with the first message.
    consumer.setConsumerGroup(consumer.getConsumerGroup() + "-" + UUID.randomUUID());
    consumer.assign(queues(places));
    consumer.start();
  }

  @Override
  public void subscribe(List<String> topics) throws Exception {
    for (String topic : topics) {
      consumer.subscribe(topic, "*", (changed, all, own) -> moved(changed, own));
    }
    consumer.start();
  }

  @Override
  public void poll(int timeoutMs, DataOutputStream answer) throws Exception {
    tellMoves();
    Map<MessageQueue, List<MessageExt>> arrived = new LinkedHashMap<>();
    if (paused) {
      Thread.sleep(timeoutMs);
    } else {
      List<MessageExt> some = consumer.poll(timeoutMs);
      for (int batch = 1; !some.isEmpty(); batch++) {
        for (MessageExt each : some) {
          MessageQueue queue = new MessageQueue(each.getTopic(), each.getBrokerName(), each.getQueueId());
          arrived.computeIfAbsent(queue, none -> new ArrayList<>()).add(each);
        }
        some = batch < BATCHES ? consumer.poll(0) : List.of();
      }
    }
    answer.writeUTF("");
    answer.writeInt(0); // a position that is gone is never told: the client goes on where the broker says
    answer.writeInt(arrived.size());
    for (Map.Entry<MessageQueue, List<MessageExt>> each : arrived.entrySet()) {
      RocketMQRelay.place(each.getKey(), brokers).write(answer);
      answer.writeInt(each.getValue().size());
      for (MessageExt message : each.getValue()) {
        byte[] key = message.getKeys() == null ? null : message.getKeys().getBytes();
        Receiver.write(message.getQueueOffset(), -1, key, message.getBody(), answer);
      }
    }
  }

  @Override
  public String commit(Map<Place, Long> positions) {
    Map<MessageQueue, Long> offsets = new LinkedHashMap<>();
    positions.forEach((place, position) -> offsets.put(RocketMQRelay.queue(place, brokers), position));
    consumer.commit(offsets, true);
    return "sent, without an answer";
  }

  @Override
  public void seekToBeginning(List<Place> places) throws Exception {
    for (MessageQueue each : queues(places)) {
      consumer.seekToBegin(each);
    }
  }

  @Override
  public void hold(boolean paused) {
    this.paused = paused;
  }

  @Override
  public void close() {
    consumer.shutdown();
  }

  /** Takes note of queues that fall to this consumer; another thread of the client says so. */
  private synchronized void moved(String topic, Set<MessageQueue> own) {
    divided.put(topic, new HashSet<>(own));
  }

  private void tellMoves() {
    Set<MessageQueue> now = ownedNow();
    if (!now.equals(owned)) {
      if (!owned.isEmpty()) {
        requests.moved('R', -1, List.of());
      }
      owned = now;
      requests.moved(
          'A', -1, now.stream().map(each -> RocketMQRelay.place(each, brokers)).collect(Collectors.toList()));
    }
  }

  private synchronized Set<MessageQueue> ownedNow() {
    return divided.values().stream().flatMap(Set::stream).collect(Collectors.toSet());
  }

  private List<MessageQueue> queues(List<Place> places) {
    return places.stream().map(each -> RocketMQRelay.queue(each, brokers)).collect(Collectors.toList());
  }
}
