// Writes batches for second_opinion.py, and beside each what was put into it, as the open batch's
// caller knows it.
//   second_opinion_batch FOLDER
// Names are given in hexadecimal, before any cleaning: how broken UTF-8 has to look is for the
// other side to say.
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "reporter/batch.h"

namespace {

using nlohmann::json;

constexpr int64_t kStart = 1'700'000'000'000'000'000;

std::string Hex(const std::string& bytes) {
  std::string text;
  for (const char byte : bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  return text;
}

// Letters, or any bytes with a taste for those that open a UTF-8 sequence.
std::string Name(std::mt19937& random) {
  static constexpr unsigned char kNasty[] = {0xC0, 0xC3, 0xA9, 0xE0, 0xA0, 0x80, 0xE2, 0x82, 0xAC,
                                             0xED, 0xBF, 0xF0, 0x9F, 0x98, 0x80, 0xF4, 0x90, 0xFF};
  std::string name;
  const bool broken = random() % 3 == 0;
  for (uint32_t length = 1 + random() % 40; length > 0; --length)
    name += static_cast<char>(broken ? kNasty[random() % sizeof(kNasty)] : 'a' + random() % 26);
  return name;
}

class Recorder {
 public:
  explicit Recorder(bool timestamps)
      : timestamps_(timestamps), batch_({.frequency_hz = 99, .keep_timestamps = timestamps}) {}

  bool Write(const std::string& path) {
    for (int i = 0; i < 3000; ++i) AddSample();
    const stackray::SealedBatchPtr sealed = std::move(batch_).Seal(kStart, kStart + 1'000'000'000);
    json expected = {{"timestamps", timestamps_}, {"frames", frames_}, {"samples", json::array()}};
    for (const auto& [key, count] : counts_) {
      expected["samples"].push_back({{"pid", key.first.first},
                                     {"tid", key.first.second},
                                     {"frames", key.second},
                                     {"count", count}});
    }
    std::ofstream(path + ".batch", std::ios::binary) << sealed->bytes;
    std::ofstream json_file(path + ".json");
    json_file << expected.dump();
    return json_file.good();
  }

 private:
  using SampleKey = std::pair<std::pair<uint32_t, uint32_t>, std::vector<int32_t>>;

  int32_t Frame(uint32_t word) {
    const bool native = word % 2 == 0;
    const auto key = stackray::FrameKey::Make(
        native ? stackray::FrameType::kNative : stackray::FrameType::kPython, 1, word);
    const int32_t known = batch_.FindFrame(key);
    if (known != stackray::BatchBuilder::kNeeded) return known;
    stackray::FrameSymbols symbols{key.type(), native ? 1u : 0u, native ? 0x1000 + word : 0u, {}};
    json lines = json::array();
    for (uint32_t i = 0; i < (native ? word % 3 : 1); ++i) {
      symbols.lines.push_back({.function = Name(random_), .file = Name(random_), .line = word});
      const auto& line = symbols.lines.back();
      lines.push_back(
          {{"function", Hex(line.function)}, {"file", Hex(line.file)}, {"line", line.line}});
    }
    if (native && batch_.NeedsMapping(1)) {
      batch_.DefineMapping(1, {.start = 0x1000,
                               .limit = 0x9000,
                               .path = "/usr/bin/program",
                               .gnu_build_id = "0011aabb",
                               .htlhash = std::string(32, 'e')});
    }
    const int32_t frame = batch_.DefineFrame(key, symbols);
    frames_.push_back({{"location", frame},
                       {"type", native ? "native" : "cpython"},
                       {"address", symbols.address},
                       {"lines", lines},
                       {"file", native ? "/usr/bin/program" : ""}});
    return frame;
  }

  void AddSample() {
    std::vector<int32_t> frames;
    for (uint32_t depth = 1 + random_() % 8; depth > 0; --depth)
      frames.push_back(Frame(random_() % 600));
    const uint32_t pid = 1 + random_() % 9, tid = pid * 100 + random_() % 2;
    const stackray::ProcessId process{.pid = pid};
    if (batch_.NeedsProcess(process)) batch_.DefineProcess(process, {.pid = pid, .command = "p"});
    const int64_t count = random_() % 10 == 0 ? 1000 : 1;
    const int64_t time = kStart + static_cast<int64_t>(random_() % 1000);
    batch_.AddSample(
        {.process = process, .frames = frames, .time_unix_ns = time, .count = count, .tid = tid});
    counts_[{{pid, tid}, frames}] += count;
  }

  const bool timestamps_;
  std::mt19937 random_{17};
  stackray::BatchBuilder batch_;
  json frames_ = json::array();
  std::map<SampleKey, int64_t> counts_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  const bool ok =
      Recorder(false).Write(folder + "/counts") && Recorder(true).Write(folder + "/timestamps");
  return ok ? 0 : 1;
}
