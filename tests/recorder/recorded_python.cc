#include "tests/recorder/recorded_python.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <sstream>

#include "interpreters/python/debug_offsets.h"
#include "kernel/raw_sample.h"

namespace stackray {

std::string FormatPython(const RecordedPython& recorded) {
  const PythonVariables& v = recorded.variables;
  std::string text = fmt::format(
      "version {:x} {:d}\nvariables {:x} {:x} {:x} {:x} {:x}\nruntime {:x}\nbase {:x}\nthread "
      "{:x}\n",
      recorded.build.version_hex, recorded.build.free_threaded, v.interpreters_at, v.current_at,
      v.tls_kind, v.tls_at, static_cast<uint64_t>(v.tls_offset), recorded.runtime, recorded.base,
      recorded.thread_pointer);
  return text + FormatWords(recorded.words);
}

absl::StatusOr<RecordedPython> ParsePython(const std::string& text) {
  RecordedPython recorded;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string what;
    uint64_t first = 0, second = 0;
    words >> what >> std::hex >> first;
    if (what == "version") {
      words >> second;
      recorded.build = {.version_hex = static_cast<uint32_t>(first), .free_threaded = second != 0};
    } else if (what == "variables") {
      PythonVariables& v = recorded.variables;
      uint64_t offset = 0;
      v.interpreters_at = first;
      words >> v.current_at >> v.tls_kind >> v.tls_at >> offset;
      v.tls_offset = static_cast<int64_t>(offset);
    } else if (what == "runtime") {
      recorded.runtime = first;
    } else if (what == "base") {
      recorded.base = first;
    } else if (what == "thread") {
      recorded.thread_pointer = first;
    } else if (what == "word") {
      words >> second;
      recorded.words[first] = second;
    } else {
      return absl::DataLossError("a line of no known kind: " + line);
    }
    if (!words) return absl::DataLossError("not enough numbers: " + line);
  }
  return recorded;
}

std::shared_ptr<const PythonData> DataOf(const RecordedPython& recorded) {
  const uint32_t minor = recorded.build.version_hex >> 16 & 0xff;
  const PythonLayoutRow* row = FindPythonLayout(minor, recorded.build.free_threaded);
  if (row == nullptr) return nullptr;
  PythonFields fields = row->fields;
  std::vector<uint8_t> offsets(kDebugOffsetsBytes);
  RecordedMemory memory(recorded.words);
  if (recorded.runtime != 0 && memory.Read(recorded.runtime, offsets) &&
      DebugOffsetsBuild(offsets).has_value() && !ApplyDebugOffsets(offsets, minor, &fields))
    return nullptr;
  return PythonData::Make(recorded.build, fields, recorded.variables, {});
}

}  // namespace stackray
