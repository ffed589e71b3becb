import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.server.log.remote.storage.LogSegmentData;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteLogSegmentMetadata.CustomMetadata;
import org.apache.kafka.server.log.remote.storage.RemoteResourceNotFoundException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageException;
import org.apache.kafka.server.log.remote.storage.RemoteStorageManager;

/**
 * Keeps the segments of a tiered log in an {@link ObjectStore}: each file of a segment is an object,
 * `/topic id-partition/segment id/kind of file`.
 *
 * <p>Loaded by brokers (KIP-405). Settings: `address` of the store, and `timeout.ms`, for which a request waits for an
 * answer.
 */
public final class HttpRemoteStorageManager implements RemoteStorageManager {
  private static final String LOG = "log";
  private static final int PARTIAL = 206;
  private static final int CREATED = 201;
  private static final int GONE = 204;
  private static final int NOT_FOUND = 404;

  private HttpClient client;
  private String address;
  private Duration timeout;

  @Override
  public void configure(Map<String, ?> settings) {
    address = String.valueOf(settings.get("address"));
    timeout = Duration.ofMillis(Long.parseLong(String.valueOf(settings.get("timeout.ms"))));
    client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(timeout).build();
  }

  @Override
  public Optional<CustomMetadata> copyLogSegmentData(RemoteLogSegmentMetadata segment, LogSegmentData data)
      throws RemoteStorageException {
    put(segment, LOG, file(data.logSegment()));
    put(segment, name(IndexType.OFFSET), file(data.offsetIndex()));
    put(segment, name(IndexType.TIMESTAMP), file(data.timeIndex()));
    put(segment, name(IndexType.PRODUCER_SNAPSHOT), file(data.producerSnapshotIndex()));
    if (data.transactionIndex().isPresent()) {
      put(segment, name(IndexType.TRANSACTION), file(data.transactionIndex().get()));
    }
    put(segment, name(IndexType.LEADER_EPOCH), BodyPublishers.ofByteArray(bytes(data.leaderEpochIndex())));
    return Optional.empty();
  }

  @Override
  public InputStream fetchLogSegment(RemoteLogSegmentMetadata segment, int start) throws RemoteStorageException {
    return get(segment, LOG, start + "-");
  }

  @Override
  public InputStream fetchLogSegment(RemoteLogSegmentMetadata segment, int start, int end)
      throws RemoteStorageException {
    return get(segment, LOG, start + "-" + end);
  }

  @Override
  public InputStream fetchIndex(RemoteLogSegmentMetadata segment, IndexType kind) throws RemoteStorageException {
    return get(segment, name(kind), "0-");
  }

  @Override
  public void deleteLogSegmentData(RemoteLogSegmentMetadata segment) throws RemoteStorageException {
    send(HttpRequest.newBuilder(folder(segment)).DELETE(), GONE);
  }

  @Override
  public void close() {}

  private void put(RemoteLogSegmentMetadata segment, String kind, BodyPublisher content)
      throws RemoteStorageException {
    send(HttpRequest.newBuilder(object(segment, kind)).PUT(content), CREATED);
  }

  /** Its time-out is that of each read: an answer whose body never comes holds no thread of the broker for ever. */
  private InputStream get(RemoteLogSegmentMetadata segment, String kind, String range) throws RemoteStorageException {
    URI uri = object(segment, kind);
    try {
      HttpURLConnection connection = (HttpURLConnection) uri.toURL().openConnection();
      connection.setConnectTimeout((int) timeout.toMillis());
      connection.setReadTimeout((int) timeout.toMillis());
      connection.setRequestProperty("Range", "bytes=" + range);
      check(connection.getResponseCode(), PARTIAL, "GET " + uri);
      return connection.getInputStream();
    } catch (IOException error) {
      throw new RemoteStorageException("GET " + uri + ": " + error, error);
    }
  }

  private void send(HttpRequest.Builder asked, int expected) throws RemoteStorageException {
    HttpRequest request = asked.timeout(timeout).build();
    String what = request.method() + " " + request.uri();
    try {
      check(client.send(request, BodyHandlers.discarding()).statusCode(), expected, what);
    } catch (IOException error) {
      throw new RemoteStorageException(what + ": " + error, error);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new RemoteStorageException(what + ": interrupted", error);
    }
  }

  private static void check(int status, int expected, String what) throws RemoteStorageException {
    if (status == NOT_FOUND) {
      throw new RemoteResourceNotFoundException(what + ": the object store has no such object");
    }
    if (status != expected) {
      throw new RemoteStorageException(what + ": the object store answered " + status);
    }
  }

  private static BodyPublisher file(Path path) throws RemoteStorageException {
    try {
      return BodyPublishers.ofFile(path);
    } catch (IOException error) {
      throw new RemoteStorageException(path + ": " + error, error);
    }
  }

  private static byte[] bytes(ByteBuffer content) {
    byte[] copied = new byte[content.remaining()];
    content.duplicate().get(copied);
    return copied;
  }

  private URI folder(RemoteLogSegmentMetadata segment) {
    String partition =
        segment.topicIdPartition().topicId() + "-" + segment.topicIdPartition().topicPartition().partition();
    return URI.create(address + "/" + partition + "/" + segment.remoteLogSegmentId().id());
  }

  private URI object(RemoteLogSegmentMetadata segment, String kind) {
    return URI.create(folder(segment) + "/" + kind);
  }

  private static String name(IndexType kind) {
    return kind.name().toLowerCase(Locale.ROOT);
  }
}
