#include "tests/symbolizer/dwarf/line_oracle.h"

#include <fmt/format.h>

#include <charconv>
#include <random>

#include "symbolizer/elf_image.h"
#include "symbolizer/file_source.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {
namespace {

constexpr size_t kMostExamples = 12;
constexpr char kUnknown[] = "??";

int64_t Number(std::string_view text) {
  int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "FILE:LINE:COLUMN"
void TakePlace(const std::string& text, OracleFrame* frame) {
  const size_t second = text.rfind(':');
  if (second == std::string::npos || second == 0) return;
  const size_t first = text.rfind(':', second - 1);
  if (first == std::string::npos) return;
  frame->file = text.substr(0, first);
  if (frame->file == kUnknown) frame->file.clear();
  frame->line = Number(std::string_view(text).substr(first + 1, second - first - 1));
  frame->column = Number(std::string_view(text).substr(second + 1));
}

bool SamePlace(const OracleFrame& a, const OracleFrame& b) {
  return a.file == b.file && a.line == b.line;
}

// Where debug information has no place of the outermost function, the oracle takes the symbol
// table's file.
bool IsSymbolsFile(const OracleFrame& expected) {
  return expected.line == 0 && expected.file.find('/') == std::string::npos;
}

}  // namespace

dwarf::DebugFileSettings SettingsFor(const std::string& file) {
  dwarf::DebugFileSettings settings;
  const std::filesystem::path directory = std::filesystem::path(file).parent_path();
  settings.open_related = [directory](const std::string& path) -> std::unique_ptr<ByteSource> {
    return FileSource::Take(UniqueFd(open((directory / path).c_str(), O_RDONLY | O_CLOEXEC)));
  };
  settings.packed_units_path = file + ".dwp";
  return settings;
}

std::vector<uint64_t> RandomTextAddresses(const std::string& file, size_t count) {
  std::vector<std::pair<uint64_t, uint64_t>> sections;
  uint64_t total = 0;
  const auto opened = OpenFile(file);
  if (!opened) return {};
  const auto image = ElfImage::Create(*opened->source);
  if (!image.ok()) return {};
  for (const ElfSection& section : image->sections()) {
    if ((section.flags & SHF_EXECINSTR) == 0 || section.name != ".text") continue;
    sections.emplace_back(section.address, section.size_bytes);
    total += section.size_bytes;
  }
  std::vector<uint64_t> addresses;
  std::mt19937_64 random(20260917);
  while (addresses.size() < count && total > 0) {
    uint64_t at = random() % total;
    for (const auto& [address, size] : sections) {
      if (at < size) {
        addresses.push_back(address + at);
        break;
      }
      at -= size;
    }
  }
  return addresses;
}

const LlvmSymbolizer& NewestLlvm() {
  static const LlvmSymbolizer newest = [] {
    LlvmSymbolizer found;
    for (const std::string& path :
         RunLines("command -v llvm-symbolizer; ls /usr/bin/llvm-symbolizer-[0-9]*"))
      for (const std::string& version :
           RunLines(path + " --version | sed -n 's/.*LLVM version \\([0-9]*\\).*/\\1/p'"))
        if (const auto number = static_cast<int>(Number(version)); number > found.version)
          found = {path, number};
    return found;
  }();
  return newest;
}

std::vector<std::vector<OracleFrame>> AskLlvm(const std::string& file,
                                              const std::vector<uint64_t>& addresses,
                                              const std::string& arguments) {
  std::string input;
  for (const uint64_t address : addresses) input += fmt::format("0x{:x}\n", address);
  const TemporaryDirectory directory;
  const std::string list = directory.Write("addresses", input);
  const std::vector<std::string> lines = RunLines(fmt::format(
      "{} --obj='{}' --inlines --no-demangle {} < '{}'", NewestLlvm().path, file, arguments, list));
  std::vector<std::vector<OracleFrame>> answers;
  std::vector<OracleFrame> frames;
  for (size_t i = 0; i < lines.size();) {
    if (lines[i].empty()) {
      answers.push_back(std::move(frames));
      frames.clear();
      ++i;
      continue;
    }
    OracleFrame frame;
    if (lines[i] != kUnknown) frame.function = lines[i];
    if (i + 1 < lines.size()) TakePlace(lines[i + 1], &frame);
    frames.push_back(std::move(frame));
    i += 2;
  }
  return answers.size() == addresses.size() ? answers : std::vector<std::vector<OracleFrame>>();
}

std::vector<OracleFrame> AsOracleFrames(const std::vector<SourceLine>& lines) {
  std::vector<OracleFrame> frames;
  for (const SourceLine& line : lines)
    frames.push_back({line.system_name.empty() ? line.function : line.system_name, line.file,
                      line.line, line.column});
  return frames;
}

std::string Describe(const std::vector<OracleFrame>& frames) {
  std::string text;
  for (const OracleFrame& frame : frames)
    text +=
        fmt::format("      {} {}:{}:{}\n", frame.function, frame.file, frame.line, frame.column);
  return text;
}

void CompareOne(uint64_t address, const std::vector<OracleFrame>& expected,
                const std::vector<OracleFrame>& found, Comparison* result) {
  ++result->asked;
  if (expected.size() > 1) ++result->inlined;
  const bool function_differs =
      found.empty() || (expected.size() > 1 && found.front().function != expected.front().function);
  bool stack_differs = found.size() != expected.size();
  for (size_t i = 0; i < expected.size() && !stack_differs; ++i) {
    const bool last = i + 1 == expected.size();
    const bool no_place = last && found[i].file.empty() && IsSymbolsFile(expected[i]);
    stack_differs = (!no_place && !SamePlace(expected[i], found[i])) ||
                    (!last && expected[i].function != found[i].function);
  }
  result->functions_differ += function_differs ? 1 : 0;
  result->stacks_differ += stack_differs ? 1 : 0;
  if ((function_differs || stack_differs) && result->stacks_differ <= kMostExamples)
    result->examples += fmt::format("  0x{:x}\n    expected\n{}    found\n{}", address,
                                    Describe(expected), Describe(found));
}

}  // namespace stackray::test
