#include "interpreters/ruby/ruby_code.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "absl/status/status.h"

namespace stackray {
namespace {

// Of a C function's second word: all below the address bits.
constexpr uint64_t kFunctionCheckMask = (uint64_t{1} << RUBY_SEQUENCE_HIGH_SHIFT) - 1;
// The longest instruction sequences of the standard library have some thousand words.
constexpr uint32_t kMostLines = 1 << 17, kMostWords = 1 << 20;
constexpr uint32_t kMethodBody = 1;  // ISEQ_TYPE_METHOD
constexpr std::string_view kNoLabel = "<compiled>";
constexpr int kMostParents = 16;

absl::Status Failure(const ProcessMemory& memory) {
  return memory.IsGone() ? absl::NotFoundError("the process is gone")
                         : absl::DataLossError("no such code any more");
}

// In pieces as BPF sends the first ones; as much as there is.
std::vector<uint8_t> ReadAsSent(ProcessMemory& memory, uint64_t address, size_t wanted,
                                size_t entry_bytes) {
  std::vector<uint8_t> bytes(wanted);
  const size_t sent = RUBY_LINE_PIECES * RUBY_LINES_BYTES;
  for (size_t at = 0; at < wanted;) {
    const size_t piece = std::min<size_t>(wanted - at, at < sent ? RUBY_LINES_BYTES : wanted);
    if (!memory.Read(address + at, std::span(bytes).subspan(at, piece))) {
      bytes.resize(at / entry_bytes * entry_bytes);
      break;
    }
    at += piece;
  }
  return bytes;
}

}  // namespace

SourceLine RubyCode::LineAt(int32_t instruction) const {
  SourceLine line;
  line.function = name_;
  line.file = file_;
  line.start_line = first_line_;
  // A frame's instruction is the next one, but where nothing has run yet.
  const auto position = static_cast<uint32_t>(instruction);
  if (position < RUBY_MAX_INSTRUCTION) line.line = lines_.LineAt(position == 0 ? 0 : position - 1);
  return line;
}

RubyFrame TakeRubyFrameApart(uint64_t first, uint64_t second) {
  RubyFrame frame;
  const auto high = [&](int shift) { return (second >> shift & 1) << (3 + RUBY_ADDRESS_BITS); };
  frame.iseq = (first & RUBY_ADDRESS_MASK) << 3 | high(RUBY_SEQUENCE_HIGH_SHIFT);
  frame.method = (first >> RUBY_ADDRESS_BITS & 0xffff) << 3 | second >> 36 << 19 |
                 high(RUBY_METHOD_HIGH_SHIFT);
  if (frame.iseq == 0) {
    frame.check = second & kFunctionCheckMask;
  } else {
    frame.check = second & RUBY_CHECK_MASK;
    frame.instruction = static_cast<uint32_t>(second >> RUBY_CHECK_BITS) & RUBY_MAX_INSTRUCTION;
  }
  return frame;
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> RubyCodeReader::Read(
    ProcessMemory& memory, uint64_t names_by_number, const RubyFrame& frame) const {
  RubyValues values(memory, fields, names_by_number);
  if (frame.iseq != 0) return ReadInstructions(memory, values, frame);
  if (frame.method != 0) return ReadFunction(memory, values, frame);
  return std::make_shared<const RubyCode>(kRubyCollector, "", 0, RubyLines{});
}

absl::StatusOr<RubyCodeReader::Method> RubyCodeReader::ReadMethod(ProcessMemory& memory,
                                                                  uint64_t at) const {
  std::array<uint8_t, RUBY_METHOD_BYTES> bytes{};
  if (!memory.Read(at, bytes)) return Failure(memory);
  const auto flags = NumberAt<uint32_t>(bytes, 0);
  if ((flags & 0xf01f) != static_cast<uint32_t>(RubyType::kMethodEntry)) return Failure(memory);
  Method method{.owner = NumberAt<uint64_t>(bytes, layout.method_owner),
                .definition = NumberAt<uint64_t>(bytes, layout.method_definition)};
  method.check =
      ruby_mix(ruby_mix(method.definition, NumberAt<uint64_t>(bytes, layout.method_called_id)),
               method.owner);
  return method;
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> RubyCodeReader::ReadFunction(
    ProcessMemory& memory, RubyValues& values, const RubyFrame& frame) const {
  const absl::StatusOr<Method> method = ReadMethod(memory, frame.method);
  if (!method.ok()) return method.status();
  const uint64_t seen = ruby_second_word(frame.iseq, frame.method, ruby_check_upper(method->check),
                                         ruby_check_lower(method->check));
  if ((seen & kFunctionCheckMask) != frame.check) return Failure(memory);
  const std::optional<uint64_t> id =
      values.Word(method->definition + fields.definition_original_id);
  const std::optional<std::string> name = id ? values.Name(*id) : std::nullopt;
  if (!name) return Failure(memory);
  return std::make_shared<const RubyCode>(values.QualifiedName(method->owner, *name), "", 0,
                                          RubyLines{});
}

// From 3.4 on evaluated text has no name of its own, but that of the code around it.
std::optional<std::string> RubyCodeReader::ReadLabel(RubyValues& values,
                                                     std::span<const uint8_t> body) const {
  std::optional<std::string> label = values.Text(NumberAt<uint64_t>(body, fields.body_label));
  auto type = NumberAt<uint32_t>(body, fields.body_type);
  std::optional<uint64_t> parent = NumberAt<uint64_t>(body, fields.body_parent);
  for (int i = 0; i < kMostParents && label == kNoLabel && type == RUBY_EVALUATED_CODE && parent;
       ++i) {
    const std::optional<uint64_t> outer = values.Word(*parent + fields.iseq_body);
    if (!outer) return label;
    const std::optional<uint64_t> text = values.Word(*outer + fields.body_label);
    type = static_cast<uint32_t>(values.Word(*outer + fields.body_type).value_or(0));
    parent = values.Word(*outer + fields.body_parent);
    if (text) label = values.Text(*text);
  }
  return label;
}

RubyLines RubyCodeReader::ReadLines(ProcessMemory& memory, std::span<const uint8_t> body) const {
  RubyLines lines;
  const auto at = NumberAt<uint64_t>(body, fields.body_lines);
  const auto count = NumberAt<uint32_t>(body, fields.body_line_count);
  const auto words = NumberAt<uint32_t>(body, fields.body_size);
  if (count == 0 || count > kMostLines || words > kMostWords) return lines;
  if (fields.body_line_index != kNoField && count > 1) {
    lines.index.resize(RubyIndexBytes(words));
    if (!memory.Read(NumberAt<uint64_t>(body, fields.body_line_index), lines.index)) return {};
  }
  const std::vector<uint8_t> entries =
      ReadAsSent(memory, at, size_t{count} * fields.line_bytes, fields.line_bytes);
  for (size_t i = 0; i < entries.size() / fields.line_bytes; ++i) {
    lines.lines.push_back(NumberAt<int32_t>(entries, i * fields.line_bytes + fields.line_number));
    if (fields.line_position != kNoField)
      lines.positions.push_back(
          NumberAt<uint32_t>(entries, i * fields.line_bytes + fields.line_position));
  }
  return lines;
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> RubyCodeReader::ReadInstructions(
    ProcessMemory& memory, RubyValues& values, const RubyFrame& frame) const {
  if (!values.Is(frame.iseq, RubyType::kInstructions)) return Failure(memory);
  const std::optional<uint64_t> body_at = values.Word(frame.iseq + fields.iseq_body);
  std::array<uint8_t, RUBY_WHOLE_BODY_BYTES> body{};
  if (!body_at || !memory.Read(*body_at, body)) return Failure(memory);
  const auto word = [&](uint32_t field) { return NumberAt<uint64_t>(body, field); };
  Method method;
  if (frame.method != 0) {
    absl::StatusOr<Method> read = ReadMethod(memory, frame.method);
    if (!read.ok()) return read.status();
    method = *read;
  }
  const uint64_t content =
      ruby_mix(ruby_mix(ruby_mix(word(fields.body_encoded), word(fields.body_path)),
                        word(fields.body_label)),
               word(fields.body_first_line));
  if ((ruby_mix(content, method.check) >> 40 & RUBY_CHECK_MASK) != frame.check)
    return absl::DataLossError("another instruction sequence by now");
  std::optional<std::string> label = ReadLabel(values, body);
  if (!label) return Failure(memory);
  // "block in name": the last word is the method's, if it is one's.
  std::optional<std::string> base = values.Text(word(fields.body_base_label));
  const std::optional<uint64_t> local = values.Word(word(fields.body_local) + fields.iseq_body);
  const std::optional<uint64_t> local_type =
      local ? values.Word(*local + fields.body_type) : std::nullopt;
  if (method.owner != 0 && base && local_type &&
      static_cast<uint32_t>(*local_type) == kMethodBody && label->ends_with(*base))
    *label =
        label->substr(0, label->size() - base->size()) + values.QualifiedName(method.owner, *base);
  // The path as it was given, or that and the real one.
  const uint64_t path = word(fields.body_path);
  std::optional<std::string> file;
  if (values.Is(path, RubyType::kString)) {
    file = values.Text(path);
  } else {
    const std::optional<uint64_t> real = values.Item(path, 1), given = values.Item(path, 0);
    if (real) file = values.Text(*real);
    if (!file && given) file = values.Text(*given);
  }
  return std::make_shared<const RubyCode>(*std::move(label), file.value_or(""),
                                          NumberAt<int32_t>(body, fields.body_first_line),
                                          ReadLines(memory, body));
}

}  // namespace stackray
