#include "interpreters/php/php_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "interpreters/php/jit_stubs.h"
#include "kernel/raw_sample.h"

namespace stackray {
namespace {

constexpr PhpVersion kFirstWithNamedClosures = {.major = 8, .minor = 4};

bool IsBefore(const PhpVersion& a, const PhpVersion& b) {
  return a.major != b.major ? a.major < b.major : a.minor < b.minor;
}

php_layout LayoutOf(const PhpVersion& version, const PhpFields& fields,
                    const PhpVariables& variables) {
  php_layout layout = {};
  layout.globals_at = variables.globals_at;
  layout.generator_class_at = variables.generator_class_at;
  layout.globals = variables.globals;
  layout.tls_kind = variables.tls_kind;
  layout.tls_at = variables.tls_at;
  layout.tls_offset = variables.tls_offset;
  layout.globals_current = fields.globals_current;
  layout.globals_before_exception = fields.globals_before_exception;
  layout.frame_instruction = fields.frame_instruction;
  layout.frame_function = fields.frame_function;
  layout.frame_object = fields.frame_object;
  layout.frame_call_info = fields.frame_call_info;
  layout.frame_previous = fields.frame_previous;
  layout.function_bytes = (fields.function_first_line + 4 + 7) & ~7u;
  layout.function_type = fields.function_type;
  layout.function_flags = fields.function_flags;
  layout.function_name = fields.function_name;
  layout.function_scope = fields.function_scope;
  layout.function_instruction_count = fields.function_instruction_count;
  layout.function_instructions = fields.function_instructions;
  layout.function_filename = fields.function_filename;
  layout.function_first_line = fields.function_first_line;
  layout.instruction_line = fields.instruction_line;
  layout.instruction_bytes = fields.instruction_bytes;
  layout.string_hash = fields.string_hash;
  layout.class_name = fields.class_name;
  layout.object_class = fields.object_class;
  layout.generator_frame = fields.generator_frame;
  layout.generator_parent = fields.generator_parent;
  layout.top_call = fields.top_call;
  layout.closure_flag = fields.closure_flag;
  layout.fake_closure_flag = fields.fake_closure_flag;
  layout.trampoline_flag = fields.trampoline_flag;
  layout.closures_are_named = IsBefore(version, kFirstWithNamedClosures) ? 0 : 1;
  return layout;
}

}  // namespace

std::shared_ptr<const PhpData> PhpData::Make(const PhpVersion& version,
                                             const PhpVariables& variables,
                                             std::vector<FileRange> loop_code,
                                             std::optional<uint16_t> loop_rule) {
  auto data = std::make_shared<PhpData>();
  data->name_ = version == PhpVersion{} ? "php of no known version"
                                        : fmt::format("php {}.{}", version.major, version.minor);
  data->version_ = version;
  data->loop_code_ = std::move(loop_code);
  data->loop_rule_ = loop_rule;
  const PhpLayoutRow* row = FindPhpLayout(version.major, version.minor);
  if (row == nullptr) return data;
  data->layout_ = LayoutOf(version, row->fields, variables);
  if (!data->loop_code_.empty()) {
    data->layout_.loop_begin = data->loop_code_.front().begin;
    data->layout_.loop_end = data->loop_code_.front().end;
  }
  data->reader_ = PhpFunctionReader{.fields = row->fields};
  return data;
}

absl::Status PhpData::Publish(uint32_t runtime, RuntimeMemory& memory) const {
  runtime_layout layout{};
  layout.kind = supported() ? RUNTIME_PHP : RUNTIME_NONE;
  layout.php = layout_;
  return memory.Put(runtime, layout);
}

RuntimeData::MadePage PhpData::LookAtMadeCode(uint64_t offset,
                                              std::span<const uint8_t> first_page) const {
  if (!loop_rule_) return {};
  JitStubs stubs = FindJitStubs(first_page, *loop_rule_);
  MadePage page{.rows = std::move(stubs.rows)};
  for (const auto& [begin, end] : stubs.called)
    page.called.push_back({.begin = offset + begin, .end = offset + end});
  return page;
}

// C functions have frames, so whatever lies between two others is a way from one to the other.
LoopPart PhpData::PartOfLoop(uint64_t file_offset) const {
  const LoopPart part = RuntimeData::PartOfLoop(file_offset);
  return part == LoopPart::kNone ? LoopPart::kCarrier : part;
}

// They alone have no line, but for code whose line could not be read.
bool PhpData::IsCFunction(uint64_t /*word*/, uint64_t second) const {
  return (second & PHP_LINE_MASK) == 0;
}

RuntimePlace PhpData::PlaceOf(uint64_t word, uint64_t second) const {
  constexpr uint32_t kInstruction = PHP_LINE_MASK | PHP_OUTERMOST | PHP_EVALUATED;
  const auto instruction = static_cast<int32_t>(static_cast<uint32_t>(second) & kInstruction);
  if ((word >> PHP_FORM_SHIFT & 3) == PHP_BY_FUNCTION)
    return {.code = FrameWordOffset(word), .check = second >> 32, .instruction = instruction};
  return {.code = php_closure_code(word, second),
          .check = php_closure_check(second),
          .instruction = instruction};
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> PhpData::ReadCode(
    ProcessMemory& memory, uint64_t /*base*/, const RuntimePlace& place) const {
  if (!reader_) return absl::DataLossError("an unsupported version");
  return reader_->Read(memory, place.code, static_cast<uint32_t>(place.check));
}

}  // namespace stackray
