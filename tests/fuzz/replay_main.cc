// Runs one fuzz target without libFuzzer, so that any compiler and any sanitizer exercises it:
//   NAME_replay SECONDS SEED_FOLDER
// feeds every seed, and pseudo-random changes of seeds for as long as told. Equal inputs every
// time, apart from how many fit the time.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Bytes = std::vector<uint8_t>;

std::vector<Bytes> ReadSeeds(const char* folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<Bytes> seeds;
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    seeds.push_back({std::istreambuf_iterator<char>(file), {}});
  }
  return seeds;
}

void ChangeOnce(Bytes& input, const Bytes& other, std::mt19937_64& random) {
  const size_t at = random() % input.size();
  switch (random() % 6) {
    case 0: input[at] = static_cast<uint8_t>(random()); return;
    case 1: input[at] ^= static_cast<uint8_t>(1 << random() % 8); return;
    case 2:  // Numbers that are often the edge of something.
      for (size_t i = 0; i < 4 && at + i < input.size(); ++i)
        input[at + i] = random() % 2 ? 0xff : 0;
      return;
    case 3: input.resize(at + 1); return;
    case 4:  // A piece of another seed over this one.
      for (size_t i = 0, from = random() % other.size(); i < 32; ++i)
        if (at + i < input.size() && from + i < other.size()) input[at + i] = other[from + i];
      return;
    default:  // A piece twice.
      input.insert(input.begin() + static_cast<ptrdiff_t>(at), input.begin(),
                   input.begin() + static_cast<ptrdiff_t>(std::min<size_t>(16, input.size())));
  }
}

void RunOn(const Bytes& input) {
  const Bytes exact(input);  // No spare capacity: a read past the end is one for the sanitizer.
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 3) {
    std::fprintf(stderr, "usage: %s SECONDS SEED_FOLDER\n", arguments[0]);
    return 2;
  }
  std::vector<Bytes> seeds = ReadSeeds(arguments[2]);
  RunOn({});
  for (const Bytes& seed : seeds) RunOn(seed);
  std::erase_if(seeds, [](const Bytes& seed) { return seed.empty(); });
  if (seeds.empty()) {
    std::fprintf(stderr, "no seeds in %s\n", arguments[2]);
    return 1;
  }
  std::mt19937_64 random(1);
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(static_cast<int64_t>(std::atof(arguments[1]) * 1000));
  uint64_t runs = 0;
  for (; std::chrono::steady_clock::now() < end; ++runs) {
    Bytes input = seeds[random() % seeds.size()];
    for (uint64_t i = 0, changes = 1 + random() % 16; i < changes; ++i)
      ChangeOnce(input, seeds[random() % seeds.size()], random);
    RunOn(input);
  }
  std::printf("%zu seeds, %llu changed inputs\n", seeds.size(),
              static_cast<unsigned long long>(runs));
  return 0;
}
