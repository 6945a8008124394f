// Java frames of each kind: interpreted, compiled, inlined, of interfaces with many
// implementations, lambdas, recursion, native methods, and work for the garbage collector.
// With an argument: one chain of calls that never changes, in a loop at its end.
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.LongUnaryOperator;

public class Shapes {
  interface Shape { long area(long x); }
  static final class Square implements Shape { public long area(long x) { return x * x; } }
  static final class Half implements Shape { public long area(long x) { return x * x / 2; } }
  static final class Third implements Shape { public long area(long x) { return x * x / 3; } }
  static final class Strip implements Shape { public long area(long x) { return x + 7; } }

  static volatile long sink;
  static final Shape[] shapes = {new Square(), new Half(), new Third(), new Strip()};

  static long areas(long x) {
    long sum = 0;
    for (int i = 0; i < 2000; i++) sum += shapes[i & 3].area(x + i);
    return sum;
  }
  static long recurse(int depth, long x) {
    return depth == 0 ? areas(x) : recurse(depth - 1, x + 1) + depth;
  }
  static long garbage(long x) {
    List<String> words = new ArrayList<>();
    for (int i = 0; i < 200; i++) words.add("word" + (x + i));
    return words.stream().filter(w -> w.hashCode() % 3 == 0).mapToLong(String::length).sum();
  }
  static long copies(long x) {
    long[] from = new long[4096];
    from[0] = x;
    long sum = 0;
    for (int i = 0; i < 40; i++) sum += Arrays.copyOf(from, 4096 - i)[0];
    return sum;
  }
  static long throwing(long x) {
    try {
      if (x != 1) throw new IllegalStateException();
      return 1;
    } catch (IllegalStateException e) {
      return e.getStackTrace().length;
    }
  }
  static long step(long x) {
    LongUnaryOperator twice = y -> areas(y) * 2;
    return twice.applyAsLong(x) + recurse(40, x) + garbage(x) + copies(x) + throwing(x);
  }

  static void spin() {
    while (true)
      sink = sink * 31 + 17;
  }
  static void third() {
    spin();
    sink++;
  }
  static void second(Runnable next) {
    next.run();
    sink++;
  }
  static void first() {
    second(() -> third());
    sink++;
  }

  public static void main(String[] arguments) {
    if (arguments.length > 0) first();
    Thread other = new Thread(() -> { while (true) sink += step(sink); }, "other");
    other.start();
    while (true) sink += step(sink);
  }
}
