#include "tests/oracles/stack_oracle.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stackray::test {
namespace {

constexpr uint64_t kStartBytes = 64;  // crt1's _start has 34.

std::string RawName(const DecodedLine& line) {
  return line.system_name.empty() ? line.function : line.system_name;
}

}  // namespace

const StackOracle::File& StackOracle::FileOf(const std::string& path) {
  const auto [at, is_new] = files_.try_emplace(path);
  if (!is_new) return at->second;
  at->second.symbols = ReadOracle(path);
  for (const std::string& line :
       RunLines("readelf -hW '" + path + "' | sed -n 's/.*Entry point address: *//p'"))
    at->second.entry = std::stoull(line, nullptr, 16);
  // "[13] .plt.got PROGBITS 0000000000026360 026360 000020 08 AX": address, offset, size.
  for (const std::string& line :
       RunLines("readelf -SW '" + path +
                "' | sed -n 's/.*\\] \\.plt[^ ]* *PROGBITS *\\([0-9a-f]*\\) [0-9a-f]* "
                "\\([0-9a-f]*\\) .*/\\1 \\2/p'")) {
    size_t parsed = 0;
    const uint64_t start = std::stoull(line, &parsed, 16);
    at->second.stubs.emplace_back(start, std::stoull(line.substr(parsed), nullptr, 16));
  }
  return at->second;
}

bool StackOracle::IsStub(const File& file, uint64_t address) {
  for (const auto& [start, size] : file.stubs)
    if (address - start < size) return true;
  return false;
}

std::string StackOracle::Disagreement(const DecodedFrame& frame) {
  const std::string name = frame.lines.empty() ? "" : RawName(frame.lines.back());
  if (frame.mapping_path.empty()) return fmt::format("frame '{}' of no mapping", name);
  if (frame.mapping_path.front() != '/') return "";  // The vDSO has no file to ask readelf about.
  const File& file = FileOf(frame.mapping_path);
  const OracleSymbols& symbols = file.symbols;
  const std::set<std::string> names = symbols.Covering(frame.address);
  if (names.contains(name) || (names.empty() && symbols.Labels(frame.address).contains(name))) {
    ++named_;
    return "";
  }
  if (names.empty() && name.ends_with("@plt") && IsStub(file, frame.address)) return "";
  if (names.empty() && name.empty()) {
    ++unnamed_;
    return "";
  }
  return fmt::format("{}+0x{:x}: '{}', but readelf has {}", frame.mapping_path, frame.address, name,
                     names);
}

bool StackOracle::IsProgramStart(const DecodedFrame& frame) {
  if (frame.mapping_path.empty() || frame.mapping_path.front() != '/') return false;
  const uint64_t entry = FileOf(frame.mapping_path).entry;
  return entry != 0 && frame.address >= entry && frame.address - entry < kStartBytes;
}

}  // namespace stackray::test
