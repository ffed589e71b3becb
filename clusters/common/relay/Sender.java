/** A system's producers. */
interface Sender {
  /** Sends a message, and has its completion told once; without a key, that is null. */
  void send(long token, String topic, int partition, byte[] key, byte[] content);

  /** Ends a transaction, and has that told once. */
  default void end(long token, boolean commit) {
    throw new UnsupportedOperationException();
  }

  /** Waits for completions, at most for this time; what is open then stays unknown. */
  void close(int timeoutMs) throws Exception;
}
