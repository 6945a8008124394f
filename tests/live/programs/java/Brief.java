// A short life: three functions of 100 ms each, one after the other.
public class Brief {
  static volatile long sink;
  static void burn(long until) {
    while (System.nanoTime() < until)
      for (int i = 0; i < 500; i++) sink = sink * 31 + i;
  }
  static void first(long until) { burn(until); }
  static void middle(long until) { burn(until); }
  static void last(long until) { burn(until); }
  public static void main(String[] arguments) {
    long begin = System.nanoTime();
    first(begin + 100_000_000);
    middle(begin + 200_000_000);
    last(begin + 300_000_000);
  }
}
