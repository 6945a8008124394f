#include "interpreters/perl/perl_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"

namespace stackray {
namespace {

perl_layout LayoutOf(const PerlFields& fields, const PerlVariables& variables) {
  perl_layout layout = {};
  const bool has_threads = variables.has_threads();
  layout.interpreter = has_threads ? PERL_INTERPRETER_KEY : PERL_INTERPRETER_ONE;
  layout.key_at = variables.key_at;
  layout.stack_info = has_threads ? fields.interpreter_stack_info : variables.stack_info_at;
  layout.cop = has_threads ? fields.interpreter_cop : variables.cop_at;
  layout.op = has_threads ? fields.interpreter_op : variables.op_at;
  layout.stack_pointer =
      has_threads ? fields.interpreter_stack_pointer : variables.stack_pointer_at;
  layout.stack_info_contexts = fields.stack_info_contexts;
  layout.stack_info_previous = fields.stack_info_previous;
  layout.stack_info_index = fields.stack_info_index;
  layout.context_bytes = fields.context_bytes;
  layout.context_op_type = fields.context_op_type;
  layout.context_old_cop = fields.context_old_cop;
  layout.context_return = fields.context_return;
  layout.context_sub = fields.context_sub;
  layout.type_sub = fields.type_sub;
  layout.type_format = fields.type_format;
  layout.type_eval = fields.type_eval;
  layout.type_defer = fields.type_defer;
  layout.cop_line = fields.cop_line;
  layout.cop_file = fields.cop_file;
  layout.type_code = fields.type_code;
  layout.code_stash = fields.code_stash;
  layout.code_glob = fields.code_glob;
  layout.code_flags = fields.code_flags;
  layout.named_flag = fields.named_flag;
  layout.native_flag = fields.native_flag;
  layout.glob_name = fields.glob_name;
  layout.glob_stash = fields.glob_stash;
  layout.hash_last = fields.hash_last;
  layout.hash_extra = fields.hash_extra;
  layout.extra_name = fields.extra_name;
  layout.op_type = fields.op_type;
  layout.op_entersub = fields.op_entersub;
  layout.op_require = fields.op_require;
  layout.op_dofile = fields.op_dofile;
  return layout;
}

bool IsIn(const std::vector<FileRange>& ranges, uint64_t offset) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [&](const FileRange& range) { return range.Contains(offset); });
}

}  // namespace

std::shared_ptr<const PerlData> PerlData::Make(const PerlVersion& version,
                                               const PerlVariables& variables, PerlLoopCode code) {
  auto data = std::make_shared<PerlData>();
  data->name_ = version == PerlVersion{} ? "perl of no known version"
                                         : fmt::format("perl {}.{}", version.major, version.minor);
  data->version_ = version;
  data->code_ = std::move(code);
  const bool has_variables = variables.has_threads() || variables.stack_info_at != 0;
  const PerlLayoutRow* row =
      version.major == 5 ? FindPerlLayout(version.minor, variables.has_threads()) : nullptr;
  if (row == nullptr || !has_variables) return data;
  data->layout_ = LayoutOf(row->fields, variables);
  data->reader_ = PerlCodeReader{.fields = row->fields, .has_threads = variables.has_threads()};
  return data;
}

absl::Status PerlData::Publish(uint32_t runtime, RuntimeMemory& memory) const {
  runtime_layout layout{};
  layout.kind = supported() ? RUNTIME_PERL : RUNTIME_NONE;
  layout.perl = layout_;
  return memory.Put(runtime, layout);
}

LoopPart PerlData::PartOfLoop(uint64_t file_offset) const {
  if (IsIn(code_.loop, file_offset)) return LoopPart::kRejoiningLoop;
  if (IsIn(code_.link, file_offset)) return LoopPart::kLink;
  return IsIn(code_.main, file_offset) ? LoopPart::kMain : LoopPart::kNone;
}

RuntimePlace PerlData::PlaceOf(uint64_t word, uint64_t second) const {
  return {.code = perl_code(word, second),
          .check = perl_check(second),
          .instruction = static_cast<int32_t>(second & PERL_LINE_MASK)};
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> PerlData::ReadCode(
    ProcessMemory& memory, uint64_t /*base*/, const RuntimePlace& place) const {
  if (!reader_) return absl::DataLossError("an unsupported version");
  return reader_->Read(memory, place.code, static_cast<uint32_t>(place.check));
}

}  // namespace stackray
