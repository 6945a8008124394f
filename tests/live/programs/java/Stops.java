// A thread that stands still, as far as the JVM can tell: at the end of a chain of calls that it
// chooses anew at each order, it runs in a loop until the next one. Meanwhile its stack is the same
// for everybody who looks.
//
// On standard input: "next" lets it choose another chain, "trace" says its stack, as
// Thread.getStackTrace() has it. Arguments: how often it calls chains beforehand, and "virtual" for
// a virtual thread.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.util.Arrays;
import java.util.Collections;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.function.IntToLongFunction;

public class Stops {
  interface Shape { long go(int depth); }
  static final class First implements Shape { public long go(int depth) { return down(depth) + 1; } }
  static final class Second implements Shape { public long go(int depth) { return down(depth) + 2; } }
  static final class Third implements Shape { public long go(int depth) { return down(depth) + 3; } }
  static final class Fourth implements Shape { public long go(int depth) { return down(depth) + 4; } }
  static abstract class Base<T> {
    abstract long take(T depth);
    long over(T depth) { return take(depth) + 1; }
  }
  static final class Derived extends Base<Integer> {
    long take(Integer depth) { return down(depth) + 5; }
  }

  static final int KINDS = 16, MOST_DEPTH = 24;
  static final Shape[] SHAPES = {new First(), new Second(), new Third(), new Fourth()};
  static final Base<Integer> DERIVED = new Derived();
  static final Object LOCK = new Object();
  static MethodHandle handle;
  static Method method;
  static Callable<Object> proxied;

  static volatile int order, reached = -1;
  static volatile boolean isQuick = true;
  static volatile long sink;
  static volatile int proxyDepth;
  static int[] kinds = {};

  static long spin() {
    int now = order;
    reached = now;
    while (order == now) sink = sink * 31 + 17;
    return sink;
  }
  static long bottom() { return isQuick ? sink++ : spin(); }

  static long plain(int depth) { return down(depth) + 1; }
  static long wide(int a, long b, double c, int depth, long d, long e, double f, int g, int h) {
    long sum = down(depth);
    return sum + a + b + (long) c + d + e + (long) f + g + h;
  }
  static long caught(int depth) {
    try {
      return down(depth);
    } finally {
      sink++;
    }
  }
  static long thrown(int depth) {
    try {
      throw new IllegalStateException();
    } catch (IllegalStateException e) {
      return down(depth) + e.getStackTrace().length;
    }
  }
  static long locked(int depth) {
    synchronized (LOCK) {
      return down(depth) + 1;
    }
  }
  static long recursive(int times, int depth) {
    return times == 0 ? down(depth) : recursive(times - 1, depth) + times;
  }
  static long looped(int depth) {
    long sum = 0;
    for (int i = 0; i < 30_000; i++) sum = sum * 31 + i;
    return sum + down(depth);
  }
  static long sorted(int depth) {
    Integer[] two = {2, 1};
    boolean[] isDone = {false};
    long[] sum = {0};
    Arrays.sort(two, (a, b) -> {
      if (!isDone[0]) {
        isDone[0] = true;
        sum[0] = down(depth);
      }
      return a - b;
    });
    return sum[0];
  }
  static long privileged(int depth) {
    return AccessController.doPrivileged((PrivilegedAction<Long>) () -> down(depth));
  }
  static long streamed(int depth) {
    return Collections.singletonList(depth).stream().mapToLong(at -> down(at)).sum();
  }
  static long called(IntToLongFunction function, int depth) { return function.applyAsLong(depth) + 1; }

  static long down(int depth) {
    if (depth >= kinds.length) return bottom();
    int next = depth + 1;
    try {
      switch (kinds[depth]) {
        case 0: return plain(next);
        case 1: return SHAPES[depth & 3].go(next);
        case 2: return called(at -> down(at), next);
        case 3: return (long) handle.invokeExact(next);
        case 4: return (Long) method.invoke(null, next);
        case 5: return caught(next);
        case 6: return thrown(next);
        case 7: return locked(next);
        case 8: return DERIVED.over(next);
        case 9: return recursive(5, next);
        case 10: return looped(next);
        case 11: return sorted(next);
        case 12: return privileged(next);
        case 13: return streamed(next);
        case 14: proxyDepth = next; return (Long) proxied.call();
        default: return wide(1, 2, 3, next, 4, 5, 6, 7, 8);
      }
    } catch (Throwable e) {
      throw new RuntimeException(e);
    }
  }

  static void work(int warmUps) {
    Random random = new Random(42);
    for (int i = 0;; i++) {
      int[] chosen = new int[1 + random.nextInt(MOST_DEPTH)];
      for (int at = 0; at < chosen.length; at++) chosen[at] = random.nextInt(KINDS);
      kinds = chosen;
      isQuick = i < warmUps;
      sink += down(0);
    }
  }

  static Thread start(Runnable run, boolean isVirtual) throws Exception {
    if (!isVirtual) {
      Thread thread = new Thread(run, "worker");
      thread.setDaemon(true);
      thread.start();
      return thread;
    }
    Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
    return (Thread) start.invoke(null, run);
  }

  public static void main(String[] arguments) throws Exception {
    MethodHandles.Lookup lookup = MethodHandles.lookup();
    handle = lookup.findStatic(Stops.class, "plain", MethodType.methodType(long.class, int.class));
    method = Stops.class.getDeclaredMethod("plain", int.class);
    @SuppressWarnings("unchecked")
    Callable<Object> made = (Callable<Object>) Proxy.newProxyInstance(Stops.class.getClassLoader(),
        new Class<?>[] {Callable.class}, (self, what, values) -> down(proxyDepth));
    proxied = made;
    int warmUps = Integer.parseInt(arguments[0]);
    boolean isVirtual = arguments.length > 1 && arguments[1].equals("virtual");
    Thread worker = start(() -> work(warmUps), isVirtual);
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    while (reached != order) Thread.sleep(1);
    System.out.println("ready");
    for (String line; (line = in.readLine()) != null;) {
      if (line.equals("next")) {
        order++;
        while (reached != order) Thread.sleep(1);
        System.out.println("ready");
      } else {
        for (StackTraceElement at : worker.getStackTrace())
          System.out.println(at.getClassName() + "." + at.getMethodName() + ":" + at.getLineNumber());
        System.out.println("end");
      }
      System.out.flush();
    }
  }
}
