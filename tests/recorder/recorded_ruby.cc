#include "tests/recorder/recorded_ruby.h"

#include <fmt/format.h>

#include <sstream>

#include "kernel/raw_sample.h"

namespace stackray {

std::string FormatRuby(const RecordedRuby& recorded) {
  const RubyVariables& v = recorded.variables;
  std::string text = fmt::format(
      "version {:x} {:x}\nvariables {:x} {:x} {:x} {:x} {:x} {:x} {:x} {:x}\nbase {:x}\nthread "
      "{:x}\n",
      recorded.version.major, recorded.version.minor, v.context_kind, v.context_at,
      static_cast<uint64_t>(v.context_offset), v.vm_at, v.vm_objspace, v.gc_flags, v.gc_mask,
      v.names_at, recorded.base, recorded.thread_pointer);
  return text + FormatWords(recorded.words);
}

absl::StatusOr<RecordedRuby> ParseRuby(const std::string& text) {
  RecordedRuby recorded;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what;
    words >> what >> std::hex;
    if (what == "version") {
      words >> recorded.version.major >> recorded.version.minor;
    } else if (what == "variables") {
      RubyVariables& v = recorded.variables;
      uint64_t offset = 0;
      words >> v.context_kind >> v.context_at >> offset >> v.vm_at >> v.vm_objspace >> v.gc_flags >>
          v.gc_mask >> v.names_at;
      v.context_offset = static_cast<int64_t>(offset);
    } else if (what == "base") {
      words >> recorded.base;
    } else if (what == "thread") {
      words >> recorded.thread_pointer;
    } else if (what == "word") {
      uint64_t address = 0;
      words >> address;
      words >> recorded.words[address];
    } else {
      return absl::DataLossError("a line of no known kind: " + line);
    }
    if (!words) return absl::DataLossError("not enough numbers: " + line);
  }
  return recorded;
}

std::shared_ptr<const RubyData> DataOf(const RecordedRuby& recorded) {
  const RubyLayoutRow* row = FindRubyLayout(recorded.version.major, recorded.version.minor);
  if (row == nullptr) return nullptr;
  return RubyData::Make(recorded.version, row->fields, recorded.variables, {});
}

}  // namespace stackray
