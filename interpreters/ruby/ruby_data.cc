#include "interpreters/ruby/ruby_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/status/status.h"

namespace stackray {
namespace {

uint32_t OrZero(uint32_t field) { return field == kNoField ? 0 : field; }

// What BPF follows to what names are read from.
void SetNames(const RubyFields& fields, const RubyVariables& variables, ruby_layout* layout) {
  layout->names_at = variables.names_at;
  layout->body_type = fields.body_type;
  layout->body_size = fields.body_size;
  layout->body_base_label = fields.body_base_label;
  layout->body_lines = fields.body_lines;
  layout->body_line_count = fields.body_line_count;
  layout->body_line_index = OrZero(fields.body_line_index);
  layout->body_parent = fields.body_parent;
  layout->body_local = fields.body_local;
  layout->line_bytes = fields.line_bytes;
  layout->definition_original_id = fields.definition_original_id;
  layout->class_ext = fields.class_ext;
  layout->class_ext_is_pointer = fields.class_ext_is_pointer;
  if (fields.ext_path != kNoField) {
    layout->class_names = RUBY_NAMES_IN_FIELDS;
    layout->ext_path = fields.ext_path;
    layout->ext_attached = fields.ext_attached;
  } else {
    const bool has_values = fields.ext_values != kNoField;
    layout->class_names = has_values ? RUBY_NAMES_IN_VALUES : RUBY_NAMES_IN_TABLE;
    layout->ext_path = has_values ? fields.ext_values : fields.ext_variables;
    layout->ext_attached = layout->ext_path;
  }
  layout->ext_bytes = std::max(layout->ext_path, layout->ext_attached) + 8;
  layout->singleton_flag = fields.singleton_flag;
  layout->table_start = fields.table_start;
  layout->table_bound = fields.table_bound;
  layout->table_entries = fields.table_entries;
  layout->string_heap_flag = fields.string_heap_flag;
  layout->string_length = fields.string_length;
  layout->string_embedded = fields.string_embedded;
  layout->string_pointer = fields.string_pointer;
  layout->string_length_shift = fields.string_length_shift;
  layout->array_embedded_flag = fields.array_embedded_flag;
  layout->array_embedded = fields.array_embedded;
  layout->array_pointer = fields.array_pointer;
  layout->last_operator_id = fields.last_operator_id;
  layout->id_shift = fields.id_shift;
}

ruby_layout LayoutOf(const RubyFields& fields, const RubyVariables& variables) {
  ruby_layout layout = {};
  layout.context_kind = variables.context_kind;
  layout.context_at = variables.context_at;
  layout.context_offset = variables.context_offset;
  layout.vm_at = variables.vm_at;
  layout.vm_objspace = variables.vm_objspace;
  layout.gc_flags = variables.gc_flags;
  layout.gc_mask = variables.gc_mask;
  layout.ec_vm_stack = fields.ec_vm_stack;
  layout.ec_thread = fields.ec_thread;
  layout.thread_ec = fields.thread_ec;
  layout.thread_native = OrZero(fields.thread_native);
  layout.thread_id = fields.thread_id;
  layout.vm_threads = OrZero(fields.vm_threads);
  layout.thread_link = OrZero(fields.thread_link);
  layout.thread_ractor = OrZero(fields.thread_ractor);
  layout.ractor_running = OrZero(fields.ractor_running);
  layout.vm_lock_owner = OrZero(fields.vm_lock_owner);
  layout.frame_bytes = fields.frame_bytes;
  layout.frame_pc = fields.frame_pc;
  layout.frame_iseq = fields.frame_iseq;
  layout.frame_ep = fields.frame_ep;
  layout.iseq_body = fields.iseq_body;
  layout.body_encoded = fields.body_encoded;
  layout.check_path = fields.body_path;
  layout.check_label = fields.body_label;
  layout.check_line = fields.body_first_line;
  layout.method_definition = fields.method_definition;
  layout.method_called_id = fields.method_called_id;
  layout.method_owner = fields.method_owner;
  SetNames(fields, variables, &layout);
  return layout;
}

// BPF reads these in one piece, or inside of a buffer.
bool Fits(const RubyFields& fields) {
  return fields.ec_vm_stack_size == fields.ec_vm_stack + 8 &&
         fields.ec_cfp == fields.ec_vm_stack + 16 && fields.frame_bytes <= RUBY_FRAME_BYTES &&
         fields.body_first_line <= RUBY_BODY_BYTES - 8 &&
         fields.method_owner <= RUBY_METHOD_BYTES - 8;
}

}  // namespace

std::shared_ptr<const RubyData> RubyData::Make(const RubyVersion& version, const RubyFields& fields,
                                               const RubyVariables& variables, RubyLoopCode code) {
  if (!Fits(fields) || variables.context_kind == RUBY_CONTEXT_NONE)
    return MakeUnsupported(version, std::move(code));
  auto data = std::make_shared<RubyData>();
  data->name_ = fmt::format("ruby {}.{}", version.major, version.minor);
  data->version_ = version;
  data->variables_ = variables;
  data->layout_ = LayoutOf(fields, variables);
  data->reader_ = RubyCodeReader{.fields = fields, .layout = data->layout_};
  data->code_ = std::move(code);
  return data;
}

std::shared_ptr<const RubyData> RubyData::MakeUnsupported(const RubyVersion& version,
                                                          RubyLoopCode code) {
  auto data = std::make_shared<RubyData>();
  data->name_ = fmt::format("ruby {}.{}", version.major, version.minor);
  data->version_ = version;
  data->code_ = std::move(code);
  return data;
}

std::optional<made_code_callers> RubyData::CallersOfMadeCode() const {
  if (!makes_code()) return std::nullopt;
  made_code_callers callers{};
  size_t count = 0;
  for (const auto* ranges : {&code_.loop, &code_.entry})
    for (const FileRange& range : *ranges) {
      if (count == MADE_CODE_CALLERS) break;
      callers.begin[count] = range.begin;
      callers.bytes[count++] = range.end - range.begin;
    }
  return count > 0 ? std::optional(callers) : std::nullopt;
}

absl::Status RubyData::Publish(uint32_t runtime, RuntimeMemory& memory) const {
  runtime_layout layout{};
  layout.kind = supported() ? RUNTIME_RUBY : RUNTIME_NONE;
  layout.ruby = layout_;
  if (const std::optional<made_code_callers> callers = CallersOfMadeCode()) {
    layout.made_code_callers = *callers;
    layout.makes_code = 1;
  }
  return memory.Put(runtime, layout);
}

// C functions have frames, so whatever lies between two others is a way from one to the other.
LoopPart RubyData::PartOfLoop(uint64_t file_offset) const {
  const LoopPart part = RuntimeData::PartOfLoop(file_offset);
  return part == LoopPart::kNone ? LoopPart::kCarrier : part;
}

// The collector has no instruction sequence either.
bool RubyData::IsCFunction(uint64_t word, uint64_t second) const {
  return TakeRubyFrameApart(word, second).iseq == 0;
}

RuntimePlace RubyData::PlaceOf(uint64_t word, uint64_t second) const {
  const uint64_t first = word & kRuntimeWordMask;
  return {.code = first,
          .check = ruby_code_check(first, second),
          .instruction = static_cast<int32_t>(TakeRubyFrameApart(word, second).instruction)};
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> RubyData::ReadCode(
    ProcessMemory& memory, uint64_t base, const RuntimePlace& place) const {
  if (!reader_) return absl::DataLossError("an unsupported version");
  const uint64_t names = variables_.names_at == 0 ? 0 : base + variables_.names_at;
  return reader_->Read(memory, names, TakeRubyFrameApart(place.code, place.check));
}

}  // namespace stackray
