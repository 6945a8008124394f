#include "interpreters/ruby/ruby_data.h"

#include <fmt/format.h>

#include <utility>

#include "absl/status/status.h"

namespace stackray {
namespace {

uint32_t OrZero(uint32_t field) { return field == kNoField ? 0 : field; }

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

absl::Status RubyData::Publish(uint32_t runtime, RuntimeMemory& memory) const {
  runtime_layout layout{};
  layout.kind = supported() ? RUNTIME_RUBY : RUNTIME_NONE;
  layout.ruby = layout_;
  return memory.Put(runtime, layout);
}

RuntimePlace RubyData::PlaceOf(uint64_t word, uint64_t second) const {
  const RubyFrame frame = TakeRubyFrameApart(word, second);
  const uint64_t instruction_bits =
      frame.iseq == 0 ? 0 : uint64_t{RUBY_MAX_INSTRUCTION} << RUBY_CHECK_BITS;
  return {.code = word & kRuntimeWordMask,
          .check = second & ~instruction_bits,
          .instruction = static_cast<int32_t>(frame.instruction)};
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> RubyData::ReadCode(
    ProcessMemory& memory, uint64_t base, const RuntimePlace& place) const {
  if (!reader_) return absl::DataLossError("an unsupported version");
  const uint64_t names = variables_.names_at == 0 ? 0 : base + variables_.names_at;
  return reader_->Read(memory, names, TakeRubyFrameApart(place.code, place.check));
}

}  // namespace stackray
