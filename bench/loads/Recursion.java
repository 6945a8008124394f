// java Recursion SECONDS: 50 frames deep, where the time is spent.
public class Recursion {
    static int f(int depth) {
        if (depth > 0) {
            return f(depth - 1) + 1;
        }
        int total = 0;
        for (int i = 0; i < 20000; i++) {
            total += i * i % 7;
        }
        return total;
    }

    public static void main(String[] arguments) {
        long end = System.nanoTime() + (long) (Double.parseDouble(arguments[0]) * 1e9);
        int total = 0;
        while (System.nanoTime() < end) {
            total += f(48);
        }
        System.out.println(total);
    }
}
