#include "interpreters/python/code_object.h"

#include <array>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "interpreters/python/text.h"

namespace stackray {
namespace {

// Twice what the longest function of the standard library has is 40 KiB.
constexpr uint64_t kMaxLineTableBytes = 1 << 20;

absl::Status Failure(const ProcessMemory& memory) {
  return memory.IsGone() ? absl::NotFoundError("the process is gone")
                         : absl::DataLossError("no code object any more");
}

}  // namespace

SourceLine PythonCode::LineAt(int32_t instruction) const {
  SourceLine line;
  line.function = name_;
  line.file = file_;
  line.start_line = first_line_;
  line.line = PythonLine(format_, line_table_, first_line_,
                         int64_t{instruction} * int64_t{instruction_bytes_});
  return line;
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> PythonCodeReader::Read(ProcessMemory& memory,
                                                                          uint64_t address,
                                                                          uint32_t check) const {
  std::array<uint8_t, PYTHON_CODE_BYTES> bytes{};
  if (!memory.Read(address + layout.code_check, bytes)) return Failure(memory);
  const auto word = [&](uint32_t field) {
    return NumberAt<uint64_t>(bytes, field - layout.code_check);
  };
  const auto first_line = NumberAt<uint32_t>(bytes, layout.check_line);
  if (python_code_check(first_line, NumberAt<uint64_t>(bytes, layout.check_words[0]),
                        NumberAt<uint64_t>(bytes, layout.check_words[1]),
                        NumberAt<uint64_t>(bytes, layout.check_words[2]),
                        NumberAt<uint64_t>(bytes, layout.check_words[3])) != check)
    return absl::DataLossError("another code object by now");
  const uint64_t name_at =
      word(fields.code_qualified_name == kAbsent ? fields.code_name : fields.code_qualified_name);
  std::optional<std::string> name = ReadPythonText(memory, fields, name_at);
  if (!name) return Failure(memory);
  std::optional<std::string> file = ReadPythonText(memory, fields, word(fields.code_filename));
  if (!file) return Failure(memory);
  std::optional<std::vector<uint8_t>> lines =
      ReadPythonBytes(memory, fields, word(fields.code_line_table), kMaxLineTableBytes);
  if (!lines && memory.IsGone()) return Failure(memory);
  return std::make_shared<const PythonCode>(
      *std::move(name), *std::move(file), static_cast<int32_t>(first_line), format,
      instruction_bytes, lines ? *std::move(lines) : std::vector<uint8_t>{});
}

}  // namespace stackray
