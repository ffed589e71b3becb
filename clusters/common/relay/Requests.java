import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Answers one request for a receiver after the other; meanwhile that may tell what happens to partitions. */
final class Requests {
  private final DataInputStream in;
  private final OutputStream out;
  private Receiver receiver;

  Requests(DataInputStream in, OutputStream out) {
    this.in = in;
    this.out = out;
  }

  void serve(Receiver all) throws Exception {
    receiver = all;
    while (next()) {}
  }

  /** Tells the worker that partitions are assigned ('A') or revoked ('R'), and serves it until this may go on. */
  void moved(char kind, int generation, Collection<Place> owned) {
    try {
      ByteArrayOutputStream content = new ByteArrayOutputStream();
      DataOutputStream told = new DataOutputStream(content);
      told.writeInt(generation);
      Place.writeAll(owned, told);
      write(kind, content.toByteArray());
      while (next()) {}
    } catch (Exception gone) {
      System.err.println(gone);
      Runtime.getRuntime().halt(1);
    }
  }

  /** Serves one request; returns false after the one that ends this. */
  private boolean next() throws Exception {
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    DataOutputStream answer = new DataOutputStream(content);
    int kind = in.readByte();
    switch (kind) {
      case 'a':
        receiver.assign(Place.readAll(in));
        break;
      case 's':
        List<String> topics = new ArrayList<>();
        for (int left = in.readInt(); left > 0; left--) {
          topics.add(in.readUTF());
        }
        receiver.subscribe(topics);
        break;
      case 'p':
        receiver.poll(in.readInt(), answer);
        break;
      case 'c':
        Map<Place, Long> positions = new HashMap<>();
        for (int left = in.readInt(); left > 0; left--) {
          positions.put(Place.read(in), in.readLong());
        }
        answer.writeUTF(receiver.commit(positions));
        break;
      case 'b':
        receiver.seekToBeginning(Place.readAll(in));
        break;
      case 'h':
        receiver.hold(in.readBoolean());
        break;
      case 'x':
        receiver.close();
        write('k', content.toByteArray());
        return false;
      default: // the worker has done what it wanted before partitions move
        return false;
    }
    write('k', content.toByteArray());
    return true;
  }

  private void write(char kind, byte[] content) throws IOException {
    ByteArrayOutputStream frame = new ByteArrayOutputStream(content.length + 5);
    DataOutputStream whole = new DataOutputStream(frame);
    whole.writeByte(kind);
    whole.writeInt(content.length);
    whole.write(content);
    out.write(frame.toByteArray());
    out.flush();
  }
}
