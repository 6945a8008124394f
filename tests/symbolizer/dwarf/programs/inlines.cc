// Functions in functions: templates, lambdas, recursion, cold parts and loops, without any header,
// so that every compiler builds it in a moment.
using Number = unsigned long;

namespace shapes {

struct Shape {
  virtual Number Area(Number scale) const = 0;
};

template <Number kSide>
struct Box : Shape {
  Number Area(Number scale) const override {
    Number sum = 0;
    for (Number i = 0; i < kSide; ++i) sum += Grow(scale, i);
    return sum;
  }
  static Number Grow(Number scale, Number i) { return Twist(scale * kSide, i); }
  static Number Twist(Number a, Number b) { return (a << (b % 13)) ^ (a >> 3) ^ kSide; }
};

}  // namespace shapes

namespace {

Number Collatz(Number n) {
  Number steps = 0;
  while (n > 1 && steps < 1000) {
    n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    ++steps;
  }
  return steps;
}

template <typename Less>
void Sort(Number* begin, Number* end, Less less) {
  for (Number* i = begin; i != end; ++i)
    for (Number* j = i; j != begin && less(*j, *(j - 1)); --j) {
      const Number kept = *j;
      *j = *(j - 1);
      *(j - 1) = kept;
    }
}

[[gnu::noinline]] Number Sum(const Number* numbers, int count) {
  return count == 0 ? 0 : numbers[0] + Sum(numbers + 1, count - 1);
}

[[gnu::noinline]] void Fail(Number code) {
  if (code == 12345) __builtin_trap();
}

}  // namespace

int main(int argc, char** argv) {
  Number numbers[64];
  for (int i = 0; i < 64; ++i)
    numbers[i] = Collatz(static_cast<Number>(i) * static_cast<Number>(argc)) ^
                 static_cast<Number>(argv[0][0]);
  Sort(numbers, numbers + 64, [](Number a, Number b) { return Collatz(a) < Collatz(b); });
  const shapes::Box<3> small;
  const shapes::Box<17> large;
  const shapes::Shape* both[] = {&small, &large};
  Number sum = Sum(numbers, 64);
  for (const shapes::Shape* shape : both) sum += shape->Area(sum);
  Fail(sum);
  return static_cast<int>(sum % 3);
}
