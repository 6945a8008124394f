#include "tests/symbolizer/cfi/frame_oracle.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string_view>

#include "fmt/format.h"

namespace stackray {
namespace {

bool ForEachLine(const std::string& command, const std::function<void(std::string_view)>& line) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), &pclose);
  if (pipe == nullptr) return false;
  char* buffer = nullptr;
  size_t capacity = 0;
  ssize_t length;
  size_t lines = 0;
  while ((length = getline(&buffer, &capacity, pipe.get())) > 0) {
    ++lines;
    line(std::string_view(buffer,
                          static_cast<size_t>(buffer[length - 1] == '\n' ? length - 1 : length)));
  }
  std::free(buffer);
  return lines != 0;
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  size_t position = 0;
  while ((position = line.find_first_not_of(' ', position)) != std::string_view::npos) {
    const size_t end = std::min(line.find(' ', position), line.size());
    words.push_back(line.substr(position, end - position));
    position = end;
  }
  return words;
}

uint64_t Hex(std::string_view text) {
  uint64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return value;
}

std::string_view After(std::string_view line, std::string_view mark) {
  const size_t position = line.find(mark);
  return position == std::string_view::npos ? std::string_view()
                                            : line.substr(position + mark.size());
}

// readelf prints a block for each entry; an entry without instructions has the rows of its CIE
// only.
class ReadelfParser {
 public:
  explicit ReadelfParser(const FrameOracle::Wanted& wanted) : wanted_(wanted) {}

  void Line(std::string_view line) {
    if (line.starts_with("Contents of the ")) {
      // .debug_frame counts only where there is no .eh_frame.
      skipping_ = !entries_.empty();
      commons_.clear();
    }
    if (skipping_) return;
    if (line.empty()) return Flush();
    const std::vector<std::string_view> words = Words(line);
    if (words.empty()) return;
    if (words.size() >= 4 && words[3] == "CIE") {
      Flush();
      common_offset_ = Hex(words[0]);
      in_common_ = true;
    } else if (words.size() >= 4 && words[3] == "FDE") {
      Flush();
      BeginEntry(line);
    } else if (words[0] == "LOC") {
      columns_.assign(words.begin(), words.end());
    } else if (in_common_ || in_entry_) {
      AddRow(words);
    }
  }

  std::vector<OracleEntry> Finish() {
    Flush();
    return std::move(entries_);
  }

 private:
  void BeginEntry(std::string_view line) {
    const std::string_view range = After(line, "pc=");
    entry_ = {};
    entry_.begin = Hex(range);
    entry_.end = Hex(After(range, ".."));
    entry_common_ = Hex(After(line, "cie="));
    in_entry_ = true;
  }

  void AddRow(std::vector<std::string_view> words) {
    JoinRegisterCells(&words);
    if (words.size() != columns_.size()) return;
    OracleRow row;
    row.address = Hex(words[0]);
    for (size_t i = 1; i < words.size(); ++i) {
      if (columns_[i] == "CFA") row.cfa = words[i];
      if (columns_[i] == "rbp" || columns_[i] == "x29") row.rbp = words[i];
      if (columns_[i] == "ra") row.ra = words[i];
      if (columns_[i] == "rsp" || columns_[i] == "sp") row.rsp = words[i];
    }
    entry_.rows.push_back(std::move(row));
  }

  // "r1 (rdx)" is one cell; the name in parentheses is kept.
  static void JoinRegisterCells(std::vector<std::string_view>* words) {
    for (size_t i = 1; i < words->size(); ++i) {
      if (!(*words)[i].starts_with('(')) continue;
      (*words)[i - 1] = (*words)[i].substr(1, (*words)[i].size() - 2);
      words->erase(words->begin() + static_cast<ptrdiff_t>(i));
    }
  }

  void Flush() {
    if (in_common_ && !entry_.rows.empty()) commons_[common_offset_] = entry_.rows.back();
    if (in_entry_ && wanted_(entry_.begin, entry_.end)) {
      if (entry_.rows.empty()) entry_.rows.push_back(commons_[entry_common_]);
      entry_.rows.front().address = entry_.begin;
      entries_.push_back(std::move(entry_));
    }
    entry_ = {};
    in_common_ = in_entry_ = false;
  }

  const FrameOracle::Wanted& wanted_;
  std::vector<std::string> columns_;
  std::map<uint64_t, OracleRow> commons_;
  OracleEntry entry_;
  uint64_t common_offset_ = 0, entry_common_ = 0;
  bool in_common_ = false, in_entry_ = false, skipping_ = false;
  std::vector<OracleEntry> entries_;
};

// "  0x1040: CFA=RSP+8: RBP=[CFA-16], RIP=[CFA-8]"
void ParseLlvmRow(std::string_view line, OracleEntry* entry) {
  OracleRow row;
  row.address = Hex(line.substr(line.find("0x") + 2));
  std::string_view rest = After(line, "CFA=");
  // Rules follow behind ": "; no expression contains that.
  const size_t colon = rest.find(": ");
  row.cfa = rest.substr(0, colon);
  rest = colon == std::string_view::npos ? std::string_view() : rest.substr(colon + 2);
  for (const auto& [name, cell] :
       {std::pair("RBP=", &row.rbp), std::pair("RIP=", &row.ra), std::pair("RSP=", &row.rsp),
        std::pair("W29=", &row.rbp), std::pair("W30=", &row.ra), std::pair("WSP=", &row.rsp)}) {
    const size_t position = (", " + std::string(rest)).find(fmt::format(", {}", name));
    if (position == std::string::npos) continue;
    const std::string_view value = rest.substr(position + 4);
    const size_t end = value.starts_with("[") ? value.find(']') + 1 : value.find(',');
    *cell = value.substr(0, end);
  }
  entry->rows.push_back(std::move(row));
}

}  // namespace

bool ProgramExists(const std::string& name) {
  return std::system(fmt::format("command -v {} >/dev/null 2>&1", name).c_str()) == 0;
}

std::optional<FrameOracle> FrameOracle::FromReadelf(const std::string& path, const Wanted& wanted) {
  if (!ProgramExists("readelf")) return std::nullopt;
  ReadelfParser parser(wanted);
  if (!ForEachLine(fmt::format("readelf --wide --debug-dump=frames-interp '{}' 2>/dev/null", path),
                   [&](std::string_view line) { parser.Line(line); }))
    return std::nullopt;
  FrameOracle oracle;
  oracle.entries_ = parser.Finish();
  oracle.Finish();
  return oracle;
}

std::optional<FrameOracle> FrameOracle::FromLlvmDwarfdump(const std::string& path,
                                                          const Wanted& wanted) {
  if (!ProgramExists("llvm-dwarfdump")) return std::nullopt;
  FrameOracle oracle;
  bool in_entry = false;
  std::vector<size_t> unreadable;
  const bool ran = ForEachLine(
      fmt::format("llvm-dwarfdump --eh-frame '{}' 2>&1", path), [&](std::string_view line) {
        const bool is_entry = line.find(" FDE cie=") != std::string_view::npos;
        if (is_entry) {
          OracleEntry entry;
          entry.begin = Hex(After(line, "pc="));
          entry.end = Hex(After(line, "..."));
          in_entry = wanted(entry.begin, entry.end);
          if (in_entry) oracle.entries_.push_back(std::move(entry));
        } else if (line.find(" CIE") != std::string_view::npos ||
                   line.find("ZERO terminator") != std::string_view::npos) {
          in_entry = false;
        } else if (in_entry && line.find("DW_CFA_restore_state") != std::string_view::npos) {
          // LLVM 14 forgets to restore the CFA: its rows after that are wrong.
          unreadable.push_back(oracle.entries_.size() - 1);
        } else if (in_entry && line.starts_with("  0x")) {
          ParseLlvmRow(line, &oracle.entries_.back());
        }
      });
  if (!ran) return std::nullopt;
  for (OracleEntry& entry : oracle.entries_) entry.readable = !entry.rows.empty();
  for (const size_t index : unreadable) oracle.entries_[index].readable = false;
  oracle.Finish();
  return oracle;
}

void FrameOracle::Finish() {
  std::erase_if(entries_, [](const OracleEntry& entry) { return entry.begin >= entry.end; });
  std::ranges::stable_sort(entries_, {}, &OracleEntry::begin);
}

const OracleEntry* FrameOracle::EntryAt(uint64_t address) const {
  const auto after = std::ranges::upper_bound(entries_, address, {}, &OracleEntry::begin);
  if (after == entries_.begin()) return nullptr;
  const OracleEntry& entry = *std::prev(after);
  return address < entry.end ? &entry : nullptr;
}

const OracleRow* FrameOracle::RowAt(const OracleEntry& entry, uint64_t address) {
  const OracleRow* found = nullptr;
  for (const OracleRow& row : entry.rows)
    if (row.address <= address) found = &row;
  return found;
}

}  // namespace stackray
