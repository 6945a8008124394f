// Code that comes and goes: class loaders that are made and dropped, each with a class of its own
// and the hidden class of a lambda in it, that is run until it is compiled; subclasses that
// invalidate what was compiled before; and a collector that unloads all of it.
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.util.function.LongUnaryOperator;

public class Churn {
  public interface Work { long run(long x); }
  public static class Unit implements Work {
    static long mix(long x) { return x * 31 + 7; }
    long weigh(long x) { return x ^ x >> 3; }
    long each(long x) {
      LongUnaryOperator twice = y -> mix(y) * 2;
      long sum = 0;
      for (int i = 0; i < 2000; i++) sum += twice.applyAsLong(weigh(x + i));
      return sum;
    }
    public long run(long x) { return each(x) + 1; }
  }
  public static class Heavier extends Unit {
    long weigh(long x) { return x * 3; }
  }

  static final class Loader extends ClassLoader {
    Loader() { super(Churn.class.getClassLoader()); }
    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.equals("Churn$Unit") && !name.equals("Churn$Heavier"))
        return super.loadClass(name, resolve);
      Class<?> known = findLoadedClass(name);
      if (known != null) return known;
      byte[] bytes = bytesOf(name);
      return defineClass(name, bytes, 0, bytes.length);
    }
  }

  static byte[] bytesOf(String name) {
    try (InputStream in = Churn.class.getResourceAsStream("/" + name + ".class")) {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      byte[] piece = new byte[4096];
      for (int n; (n = in.read(piece)) > 0;) out.write(piece, 0, n);
      return out.toByteArray();
    } catch (java.io.IOException e) {
      throw new RuntimeException(e);
    }
  }

  static volatile long sink;

  static void oneLife() throws Exception {
    Loader loader = new Loader();
    Work work = (Work) loader.loadClass("Churn$Unit").getDeclaredConstructor().newInstance();
    for (int i = 0; i < 40; i++) sink += work.run(i);
    Work other = (Work) loader.loadClass("Churn$Heavier").getDeclaredConstructor().newInstance();
    for (int i = 0; i < 40; i++) sink += work.run(i) + other.run(i);
  }
  static void lives() {
    try {
      for (int i = 1;; i++) {
        oneLife();
        if (i % 25 == 0) System.gc();
      }
    } catch (Exception e) {
      throw new RuntimeException(e);
    }
  }

  public static void main(String[] arguments) {
    new Thread(Churn::lives, "lives").start();
    lives();
  }
}
