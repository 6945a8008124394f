// Interpreted methods (slow…) and compiled ones (quick…) that call each other with more arguments
// than there are registers, so that much of the time is spent between the two; and handles of
// methods, which are called from both. Each method has one caller. To run with
// -XX:CompileCommand=exclude,Adapters::slow* and dontinline,Adapters::*.
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

public class Adapters {
  static long quickLeaf(int a, long b, double c, int d, long e, float f, int g, long h, int i,
                        long j, double k, int l, Object m, double n, double o, double p, double q,
                        double r, double s, double t) {
    return a + b + d + e + g + h + i + j + l;
  }
  static long slowSecond(int a, long b, double c, int d, long e, float f, int g, long h, int i,
                         long j, double k, int l, Object m, double n, double o, double p, double q,
                         double r, double s, double t) {
    return quickLeaf(l, j, k, i, h, f, g, e, d, b, c, a, m, t, s, r, q, p, o, n) + 1;
  }
  static long quickSecond(int a, long b, double c, int d, long e, float f, int g, long h, int i,
                          long j, double k, int l, Object m, double n, double o, double p, double q,
                          double r, double s, double t) {
    return slowSecond(l, j, k, i, h, f, g, e, d, b, c, a, m, t, s, r, q, p, o, n) + 1;
  }
  static long slowFirst(int a, long b, double c, int d, long e, float f, int g, long h, int i,
                        long j, double k, int l, Object m, double n, double o, double p, double q,
                        double r, double s, double t) {
    return quickSecond(l, j, k, i, h, f, g, e, d, b, c, a, m, t, s, r, q, p, o, n) + 1;
  }
  static long quickFirst(long i) {
    return slowFirst((int) i, i, i, 2, i, 1f, 3, i, 4, i, i, 5, "", 1, 2, 3, 4, 5, 6, 7);
  }

  static int quickFew(int a) { return a * 3; }
  static int slowFew(int a) { return quickFew(a) + 1; }
  static int quickTwice(int a) { return slowFew(a) + 1; }

  static int quickOfHandle(int a, int b) { return a ^ b; }
  static int slowOfHandle(int a, int b) { return quickTwice(a) - b; }
  static MethodHandle toQuick, toSlow;
  static int quickHandles(int a) throws Throwable {
    return (int) toQuick.invokeExact(a, 2) + (int) toSlow.invokeExact(a, 2);
  }
  static int slowHandles(int a) throws Throwable {
    return (int) toQuick.invokeExact(a, 3) + quickHandles(a);
  }

  static volatile long sink;

  public static void main(String[] arguments) throws Throwable {
    MethodType type = MethodType.methodType(int.class, int.class, int.class);
    toQuick = MethodHandles.lookup().findStatic(Adapters.class, "quickOfHandle", type);
    toSlow = MethodHandles.lookup().findStatic(Adapters.class, "slowOfHandle", type);
    boolean handles = arguments.length > 0;
    for (long i = 0;; i++) sink += handles ? slowHandles((int) i) : quickFirst(i);
  }
}
