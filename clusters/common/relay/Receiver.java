import java.io.DataOutputStream;
import java.io.IOException;
import java.util.List;
import java.util.Map;

/** A system's consumers. */
interface Receiver {
  /** Reads these partitions from the beginning. */
  void assign(List<Place> places) throws Exception;

  /** Joins the group that reads these topics. */
  void subscribe(List<String> topics) throws Exception;

  /** Writes what arrived: an error or nothing, places whose position is lost, and messages by place. */
  void poll(int timeoutMs, DataOutputStream answer) throws Exception;

  /** Commits positions; returns an error, or nothing. */
  String commit(Map<Place, Long> positions);

  void seekToBeginning(List<Place> places) throws Exception;

  void hold(boolean paused);

  void close() throws Exception;

  /** Writes a message; without a key, that is null, and a count of -1 means that there is none. */
  static void write(long position, int redelivered, byte[] key, byte[] content, DataOutputStream answer)
      throws IOException {
    answer.writeLong(position);
    answer.writeInt(redelivered);
    write(key, answer);
    write(content, answer);
  }

  private static void write(byte[] content, DataOutputStream answer) throws IOException {
    answer.writeInt(content == null ? -1 : content.length);
    if (content != null) {
      answer.write(content);
    }
  }
}
