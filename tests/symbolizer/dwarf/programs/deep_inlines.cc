// Level<800> with all others inlined, down to Level<0>, which does the work.
volatile unsigned sink;

template <int n>
[[gnu::always_inline]] inline void Level(unsigned work);
template <>
[[gnu::always_inline]] inline void Level<0>(unsigned work) {
  for (unsigned i = 0; i < work; ++i)
    sink = sink * 3 + i, sink = sink ^ work, sink = sink * 5 + i, sink = sink ^ (work + i);
}
template <int n>
[[gnu::always_inline]] inline void Level(unsigned work) {
  sink = work;
  Level<n - 1>(work + sink);
}

int main(int argc, char**) {
  Level<800>(static_cast<unsigned>(argc) * 100000);
  return 0;
}
