import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;

/** A partition of a topic. */
final class Place {
  final String topic;
  final int partition;

  Place(String topic, int partition) {
    this.topic = topic;
    this.partition = partition;
  }

  static Place read(DataInputStream in) throws IOException {
    return new Place(in.readUTF(), in.readInt());
  }

  static List<Place> readAll(DataInputStream in) throws IOException {
    List<Place> read = new ArrayList<>();
    for (int left = in.readInt(); left > 0; left--) {
      read.add(read(in));
    }
    return read;
  }

  static void writeAll(Collection<Place> places, DataOutputStream out) throws IOException {
    out.writeInt(places.size());
    for (Place each : places) {
      each.write(out);
    }
  }

  void write(DataOutputStream out) throws IOException {
    out.writeUTF(topic);
    out.writeInt(partition);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof Place && topic.equals(((Place) other).topic) && partition == ((Place) other).partition;
  }

  @Override
  public int hashCode() {
    return Objects.hash(topic, partition);
  }
}
