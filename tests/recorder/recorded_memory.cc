#include "tests/recorder/recorded_memory.h"

#include <fmt/format.h>

#include <cstring>
#include <sstream>
#include <vector>

namespace stackray {

std::string FormatWords(const MemoryWords& words) {
  std::string text;
  for (const auto& [address, value] : words)
    text += fmt::format("word {:x} {:x}\n", address, value);
  return text;
}

absl::Status ParsePairs(
    const std::string& text, MemoryWords* words,
    const std::function<bool(std::string_view what, uint64_t first, uint64_t second)>& take) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string what;
    uint64_t first = 0, second = 0;
    fields >> what >> std::hex >> first >> second;
    if (!fields) return absl::DataLossError("not enough numbers: " + line);
    if (what == "word")
      (*words)[first] = second;
    else if (!take(what, first, second))
      return absl::DataLossError("a line of no known kind: " + line);
  }
  return absl::OkStatus();
}

bool RecordedMemory::Read(uint64_t address, std::span<uint8_t> to) {
  for (size_t done = 0; done < to.size();) {
    const uint64_t at = (address + done) & ~7ULL, skip = address + done - at;
    const auto word = words_.find(at);
    if (word == words_.end()) return false;
    const size_t count = std::min<size_t>(8 - skip, to.size() - done);
    std::memcpy(to.data() + done, reinterpret_cast<const uint8_t*>(&word->second) + skip, count);
    done += count;
  }
  return true;
}

bool RecordingMemory::Read(uint64_t address, std::span<uint8_t> to) {
  const uint64_t begin = address & ~7ULL, end = (address + to.size() + 7) & ~7ULL;
  std::vector<uint64_t> read((end - begin) / 8);
  if (!live_.Read(begin, {reinterpret_cast<uint8_t*>(read.data()), read.size() * 8})) return false;
  for (size_t i = 0; i < read.size(); ++i) (*words_)[begin + 8 * i] = read[i];
  std::memcpy(to.data(), reinterpret_cast<uint8_t*>(read.data()) + (address - begin), to.size());
  return true;
}

}  // namespace stackray
