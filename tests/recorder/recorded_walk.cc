#include "tests/recorder/recorded_walk.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "bpf/shared/unwind_table.h"
#include "kernel/raw_sample.h"

namespace stackray {
namespace {

constexpr size_t kMaxBlobBytes = 1 << 19;
constexpr size_t kBytesALine = 48;

std::string FormatId(uint64_t id) { return id == kVdsoId ? "vdso" : fmt::format("{:x}", id); }

void FormatWords(const std::map<uint64_t, uint64_t>& words, std::string* out) {
  for (auto it = words.begin(); it != words.end();) {
    const auto first = it++;
    uint64_t count = 1;
    const uint64_t step = it == words.end() ? 0 : it->first - first->first;
    while (it != words.end() && it->second == first->second &&
           it->first == first->first + count * step) {
      ++count;
      ++it;
    }
    *out += fmt::format("word {:x} {:x}", first->first, first->second);
    *out += count > 1 ? fmt::format(" {:x} {:x}\n", count, step) : "\n";
  }
}

void FormatBlob(const std::vector<uint8_t>& blob, std::string* out) {
  std::string line;
  for (size_t i = 0; i < blob.size();) {
    const size_t zeros =
        static_cast<size_t>(std::find_if(blob.begin() + static_cast<ptrdiff_t>(i), blob.end(),
                                         [](uint8_t byte) { return byte != 0; }) -
                            blob.begin()) -
        i;
    if (zeros > 8) {
      line += fmt::format(" *{} ", zeros);
      i += zeros;
    } else {
      line += fmt::format("{:02x}", blob[i++]);
    }
    if (line.size() >= 2 * kBytesALine || i == blob.size()) {
      *out += " " + line + "\n";
      line.clear();
    }
  }
}

uint64_t IdOf(const code_range& range) {
  return range.kind == RANGE_VDSO ? kVdsoId : range.kind == RANGE_FILE ? range.file.inode : 0;
}

// Reads one line's words; any that is missing or no number makes it bad.
class LineReader {
 public:
  explicit LineReader(const std::string& line) : stream_(line) {}
  std::string Word() {
    std::string word;
    if (!(stream_ >> word)) ok_ = false;
    return word;
  }
  uint64_t Hex() {
    const std::string word = Word();
    char* end = nullptr;
    const uint64_t value = std::strtoull(word.c_str(), &end, 16);
    if (word.empty() || *end != '\0') ok_ = false;
    return value;
  }
  uint64_t Id() {
    const auto at = stream_.tellg();
    if (Word() == "vdso") return kVdsoId;
    stream_.clear();
    stream_.seekg(at);
    return Hex();
  }
  std::string Rest() {
    std::string rest;
    std::getline(stream_ >> std::ws, rest);
    return rest;
  }
  bool AtEnd() { return (stream_ >> std::ws).eof(); }
  bool ok() const { return ok_; }

 private:
  std::istringstream stream_;
  bool ok_ = true;
};

code_range ReadRange(LineReader& line) {
  code_range range = {};
  range.start = line.Hex();
  range.end = line.Hex();
  range.file_offset = line.Hex();
  const uint64_t id = line.Id();
  range.kind = id == kVdsoId ? RANGE_VDSO : id == 0 ? RANGE_ANON : RANGE_FILE;
  if (range.kind == RANGE_FILE) range.file.inode = id;
  return range;
}

bool ReadWords(LineReader& line, RecordedWalk* walk) {
  const uint64_t address = line.Hex(), value = line.Hex();
  uint64_t count = 1, step = 0;
  if (!line.AtEnd()) {
    count = line.Hex();
    step = line.Hex();
  }
  if (!line.ok() || count > 1 << 20) return false;
  for (uint64_t i = 0; i < count; ++i) walk->words[address + i * step] = value;
  return true;
}

bool AppendBytes(const std::string& text, std::vector<uint8_t>* blob) {
  std::istringstream stream(text);
  for (std::string piece; stream >> piece;) {
    if (piece[0] == '*') {
      blob->resize(blob->size() + std::strtoul(piece.c_str() + 1, nullptr, 10));
    } else {
      if (piece.size() % 2 != 0) return false;
      for (size_t i = 0; i < piece.size(); i += 2)
        blob->push_back(
            static_cast<uint8_t>(std::strtoul(piece.substr(i, 2).c_str(), nullptr, 16)));
    }
    if (blob->size() > kMaxBlobBytes) return false;
  }
  return true;
}

bool ReadFact(const std::string& text, RecordedWalk* walk, std::vector<uint8_t>** blob) {
  LineReader line(text);
  const std::string fact = line.Word();
  if (fact == "pc") {
    walk->leaf.pc = line.Hex();
  } else if (fact == "thread") {
    walk->thread_pointer = line.Hex();
  } else if (fact == "exact") {
    walk->leaf.exact_pc = line.Hex() != 0;
  } else if (fact == "r") {
    const uint64_t number = line.Hex();
    walk->leaf.r[number % UNWIND_REGISTERS] = line.Hex();
  } else if (fact == "file") {
    RecordedFile& file = walk->files[line.Id()];
    file.name = line.Word();
    file.pages.first_page = static_cast<uint32_t>(line.Hex());
    file.pages.page_count = static_cast<uint32_t>(line.Hex());
  } else if (fact == "range") {
    walk->ranges.push_back(ReadRange(line));
  } else if (fact == "word") {
    return ReadWords(line, walk);
  } else if (fact == "name") {
    const uint64_t id = line.Id(), offset = line.Hex();
    walk->names[{id, offset}] = line.Rest();
  } else if (fact == "page") {
    const uint64_t id = line.Id(), number = line.Hex();
    *blob = &walk->pages[{id, static_cast<uint32_t>(number)}];
  } else {
    return false;
  }
  return line.ok();
}

}  // namespace

std::string FormatWalk(const RecordedWalk& walk) {
  std::string out = fmt::format("pc {:x}\n", walk.leaf.pc);
  if (walk.leaf.exact_pc == 0) out += "exact 0\n";
  if (walk.thread_pointer != 0) out += fmt::format("thread {:x}\n", walk.thread_pointer);
  for (uint32_t i = 0; i < UNWIND_REGISTERS; ++i)
    out += fmt::format("r {:x} {:x}\n", i, walk.leaf.r[i]);
  for (const auto& [id, file] : walk.files)
    out += fmt::format("file {} {} {:x} {:x}\n", FormatId(id), file.name, file.pages.first_page,
                       file.pages.page_count);
  for (const code_range& range : walk.ranges)
    out += fmt::format("range {:x} {:x} {:x} {}\n", range.start, range.end, range.file_offset,
                       FormatId(IdOf(range)));
  FormatWords(walk.words, &out);
  for (const auto& [place, name] : walk.names)
    out += fmt::format("name {} {:x} {}\n", FormatId(place.first), place.second, name);
  for (const auto& [place, blob] : walk.pages) {
    out += fmt::format("page {} {:x}\n", FormatId(place.first), place.second);
    FormatBlob(blob, &out);
  }
  return out;
}

absl::StatusOr<RecordedWalk> ParseWalk(const std::string& text) {
  RecordedWalk walk;
  walk.leaf.known = static_cast<u32>((uint64_t{1} << UNWIND_REGISTERS) - 1);
#ifdef STACKRAY_ARM64
  walk.leaf.address_mask = kUserAddresses;
#endif
  walk.leaf.exact_pc = 1;
  std::vector<uint8_t>* blob = nullptr;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const bool good =
        line[0] == ' ' ? blob != nullptr && AppendBytes(line, blob) : ReadFact(line, &walk, &blob);
    if (!good) return absl::DataLossError(fmt::format("not a fact of a walk: {}", line));
  }
  return walk;
}

std::string DescribeFrames(const RecordedWalk& walk, const WalkResult& result) {
  std::string out;
  for (size_t i = 0; i < result.words.size(); ++i) {
    const uint64_t word = result.words[i], kind = FrameWordKind(word);
    if (kind == FRAME_NO_RANGE) {
      out += fmt::format("[no mapping {:x}]\n", FrameWordOffset(word));
      continue;
    }
    const code_range& range = result.ranges.at(FrameWordRange(word));
    const uint64_t offset = FrameWordOffset(word) - (kind == FRAME_RETURN);
    const auto name = walk.names.find({IdOf(range), IdOf(range) == 0 ? 0 : offset});
    out += name == walk.names.end() ? fmt::format("[not recorded {:x}]", offset) : name->second;
    out += kind == FRAME_EXACT && i > 0 ? " (exact)\n" : "\n";
  }
  return out + fmt::format("end: {}{}\n", EndText(result.end),
                           (result.flags & SAMPLE_GUESSED) != 0 ? " (guessed)" : "");
}

std::vector<uint64_t> FramePcs(const WalkResult& result) {
  std::vector<uint64_t> pcs;
  for (const uint64_t word : result.words) {
    const uint64_t offset = FrameWordOffset(word);
    if (FrameWordKind(word) == FRAME_NO_RANGE) {
      pcs.push_back(offset);
      continue;
    }
    const code_range& range = result.ranges.at(FrameWordRange(word));
    pcs.push_back(offset - range.file_offset + range.start);
  }
  return pcs;
}

std::string EndText(uint32_t end) {
  switch (end) {
    case END_UNDEFINED_RA: return "undefined return address";
    case END_NULL_RA: return "null return address";
    case END_NULL_FP: return "null frame pointer";
    case END_NULL_RECORD: return "null frame record";
    case END_READ_FAULT: return "read fault";
    case END_NO_MAPPING: return "no mapping";
    case END_NOT_EXECUTABLE: return "not executable";
    case END_UNKNOWN_FILE: return "unknown file";
    case END_MISSING_PAGE: return "missing page";
    case END_NO_PROGRESS: return "no progress";
    case END_BAD_FP: return "bad frame pointer";
    case END_UNSUPPORTED_RULE: return "unsupported rule";
    case END_TOO_DEEP: return "too deep";
    case END_TOO_MANY_RANGES: return "too many ranges";
    case END_BUSY: return "busy";
    case END_BAD_TABLE: return "bad table";
    case END_DOUBTED: return "a caller that was guessed";
    case END_GUESSED_NULL_RA: return "null return address by a guess";
    default: return fmt::format("reason {}", end);
  }
}

}  // namespace stackray
