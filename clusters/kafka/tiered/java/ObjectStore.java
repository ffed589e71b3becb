import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.net.InetSocketAddress;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Objects over HTTP: PUT makes one, whole or not at all; GET answers a range of one; DELETE removes all below a path.
 *
 * <p>Arguments: the folder, the address, the port, and `true` if an object and its name are to be on the disk before
 * PUT is answered.
 */
public final class ObjectStore {
  private static final int THREADS = 8;
  private static final int BUFFER = 1 << 16;
  private static final int NOTHING = -1;

  private final Path folder;
  private final boolean durable;
  private final AtomicLong puts = new AtomicLong();

  private ObjectStore(Path folder, boolean durable) {
    this.folder = folder;
    this.durable = durable;
  }

  public static void main(String[] arguments) throws IOException {
    ObjectStore store = new ObjectStore(Path.of(arguments[0]), Boolean.parseBoolean(arguments[3]));
    HttpServer server = HttpServer.create(new InetSocketAddress(arguments[1], Integer.parseInt(arguments[2])), 0);
    server.setExecutor(Executors.newFixedThreadPool(THREADS));
    server.createContext("/", store::answer);
    server.start();
  }

  private void answer(HttpExchange exchange) throws IOException {
    try {
      Path path = folder.resolve(exchange.getRequestURI().getPath().substring(1)).normalize();
      String method = path.startsWith(folder) ? exchange.getRequestMethod() : "";
      switch (method) {
        case "PUT":
          put(path, exchange);
          exchange.sendResponseHeaders(201, NOTHING);
          break;
        case "GET":
          get(path, exchange);
          break;
        case "DELETE":
          delete(path);
          exchange.sendResponseHeaders(204, NOTHING);
          break;
        default:
          exchange.sendResponseHeaders(405, NOTHING);
      }
    } catch (IOException failed) {
      System.out.println("ERROR " + exchange.getRequestMethod() + " " + exchange.getRequestURI() + ": " + failed);
      throw failed;
    } finally {
      exchange.close();
    }
  }

  private void put(Path path, HttpExchange exchange) throws IOException {
    long length = Long.parseLong(exchange.getRequestHeaders().getFirst("Content-Length"));
    Files.createDirectories(path.getParent());
    Path written = folder.resolve("unfinished-" + puts.incrementAndGet());
    try {
      if (Files.copy(exchange.getRequestBody(), written, StandardCopyOption.REPLACE_EXISTING) != length) {
        throw new IOException("the connection ended within the object");
      }
      if (durable) {
        force(written, StandardOpenOption.WRITE);
      }
      Files.move(written, path, StandardCopyOption.ATOMIC_MOVE);
    } finally {
      Files.deleteIfExists(written);
    }
    for (Path above = path.getParent(); durable && above.startsWith(folder); above = above.getParent()) {
      force(above, StandardOpenOption.READ);
    }
  }

  private static void get(Path path, HttpExchange exchange) throws IOException {
    if (!Files.isRegularFile(path)) {
      exchange.sendResponseHeaders(404, NOTHING);
      return;
    }
    String asked = exchange.getRequestHeaders().getFirst("Range");
    String[] range = (asked == null ? "0-" : asked.substring("bytes=".length())).split("-");
    try (RandomAccessFile file = new RandomAccessFile(path.toFile(), "r")) {
      long start = Long.parseLong(range[0]);
      long end = range.length < 2 ? file.length() : Math.min(file.length(), Long.parseLong(range[1]) + 1);
      long left = Math.max(0, end - start);
      exchange.sendResponseHeaders(206, left == 0 ? NOTHING : left);
      file.seek(start);
      byte[] buffer = new byte[BUFFER];
      OutputStream answer = exchange.getResponseBody();
      while (left > 0) {
        int count = file.read(buffer, 0, (int) Math.min(buffer.length, left));
        if (count < 0) {
          throw new IOException("the object became shorter");
        }
        answer.write(buffer, 0, count);
        left -= count;
      }
    }
  }

  private static void delete(Path path) throws IOException {
    if (Files.exists(path)) {
      try (Stream<Path> below = Files.walk(path)) {
        List<Path> deepestFirst = below.sorted(Comparator.reverseOrder()).collect(Collectors.toList());
        for (Path one : deepestFirst) {
          Files.delete(one);
        }
      }
    }
  }

  private static void force(Path path, StandardOpenOption access) throws IOException {
    try (FileChannel channel = FileChannel.open(path, access)) {
      channel.force(true);
    }
  }
}
