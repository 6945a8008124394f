// Compiled methods that are given up while they are on the stack: below a deep recursion a subclass
// is loaded whose method its code has taken for the only one, so each frame is deoptimised when it
// is returned to; and branches that no compiled code has met before. Each method has the callers
// that its source says, whatever runs it.
import java.io.ByteArrayOutputStream;
import java.io.InputStream;

public class Deopts {
  public static class Unit {
    public Loader loader;
    String next;
    long first(long x) { return x * 3; }
    long second(long x) { return x ^ 5; }
    long third(long x) { return x + 7; }
    public long call(int depth, long x, String name) {
      next = name;
      return deep(depth, x) + 1;
    }
    long deep(int depth, long x) {
      if (depth == 0) return bottom(x);
      return deep(depth - 1, x + 1) + first(x) + second(x) + third(x);
    }
    long bottom(long x) {
      if (next != null) load();
      return rare(x);
    }
    void load() {
      try {
        loader.loadClass(next).getDeclaredConstructor().newInstance();
      } catch (ReflectiveOperationException e) {
        throw new RuntimeException(e);
      }
    }
    long rare(long x) {
      if (x % 40_000 == 17) return trapped(x);
      return x;
    }
    long trapped(long x) { return x * 2; }
  }
  public static class First extends Unit { long first(long x) { return x; } }
  public static class Second extends Unit { long second(long x) { return x; } }
  public static class Third extends Unit { long third(long x) { return x; } }

  public static final class Loader extends ClassLoader {
    Loader() { super(Deopts.class.getClassLoader()); }
    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.startsWith("Deopts$") || name.equals("Deopts$Loader"))
        return super.loadClass(name, resolve);
      Class<?> known = findLoadedClass(name);
      if (known != null) return known;
      byte[] bytes = bytesOf(name);
      return defineClass(name, bytes, 0, bytes.length);
    }
  }

  static final java.util.Map<String, byte[]> classes = new java.util.HashMap<>();

  static byte[] bytesOf(String name) {
    return classes.computeIfAbsent(name, Deopts::readBytes);
  }
  static byte[] readBytes(String name) {
    try (InputStream in = Deopts.class.getResourceAsStream("/" + name + ".class")) {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      byte[] piece = new byte[4096];
      for (int n; (n = in.read(piece)) > 0;) out.write(piece, 0, n);
      return out.toByteArray();
    } catch (java.io.IOException e) {
      throw new RuntimeException(e);
    }
  }

  public static long sink;

  // Its Unit is another class than the one that Deopts itself has: its life is run by reflection.
  public static class Life implements Runnable {
    public void run() {
      Unit unit = new Unit();
      unit.loader = (Loader) Life.class.getClassLoader();
      for (String name : new String[] {"Deopts$First", "Deopts$Second", "Deopts$Third"}) {
        warm(unit);
        sink += unit.call(400, 1, name);
      }
    }
    static void warm(Unit unit) {
      for (int i = 0; i < 150; i++) sink += unit.call(60, i * 60L, null);
    }
  }

  static void oneLife() throws Exception {
    Loader loader = new Loader();
    ((Runnable) loader.loadClass("Deopts$Life").getDeclaredConstructor().newInstance()).run();
  }

  public static void main(String[] arguments) throws Exception {
    for (;;) oneLife();
  }
}
