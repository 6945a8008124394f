import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Threads that serve requests in spans of dd-java-agent: Writer SECONDS LOG (judge.py). */
public class Writer {
  private static final long REQUEST_NS = 6_000_000, GAP_NS = 2_000_000;
  private static final List<String> lines = Collections.synchronizedList(new ArrayList<>());
  private static Method traceId, spanId;
  private static long end;

  private static long now() {
    Instant now = Instant.now();
    return now.getEpochSecond() * 1_000_000_000L + now.getNano();
  }

  private static long burn(long ns) {
    long number = 1;
    for (long until = System.nanoTime() + ns; System.nanoTime() < until; )
      for (int i = 0; i < 1000; i++) number = number * 31 % 1000003;
    return number;
  }

  private static String tid() throws Exception {
    return Files.readSymbolicLink(Path.of("/proc/thread-self")).getFileName().toString();
  }

  /** Traced: -Ddd.trace.methods=Writer[serve]. */
  public static void serve(String tid) throws Exception {
    String trace = (String) traceId.invoke(null), span = (String) spanId.invoke(null);
    long begin = now();
    burn(REQUEST_NS);
    lines.add(tid + " " + begin + " " + now() + " " + trace + " "
        + String.format("%016x", Long.parseUnsignedLong(span)));
  }

  private static void work() {
    try {
      String tid = tid();
      while (System.nanoTime() < end) {
        serve(tid);
        long begin = now();
        burn(GAP_NS);
        lines.add(tid + " " + begin + " " + now() + " - -");
      }
    } catch (Exception e) {
      throw new RuntimeException(e);
    }
  }

  public static void main(String[] arguments) throws Exception {
    Class<?> ids = Class.forName("datadog.trace.api.CorrelationIdentifier", true, null);
    traceId = ids.getMethod("getTraceId");
    spanId = ids.getMethod("getSpanId");
    end = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 3; i++) threads.add(new Thread(Writer::work));
    for (Thread thread : threads) thread.start();
    for (Thread thread : threads) thread.join();
    Files.write(Path.of(arguments[1]), lines);
    System.exit(0);
  }
}
