#include "interpreters/v8/v8_data.h"

#include <fmt/format.h>

#include "absl/status/status.h"
#include "interpreters/v8/instance.h"
#include "interpreters/v8/plumbing.h"

namespace stackray {

std::string V8Data::name() const {
  return fmt::format("v8 {}.{}", layout_->version.major, layout_->version.minor);
}

// A layout says nothing of such a runtime: BPF asks for the process.
absl::Status V8Data::Publish(uint32_t runtime, RuntimeMemory& memory) const {
  return memory.Put(runtime, runtime_layout{});
}

const std::vector<FileRange>& V8Data::loop_code() const {
  static const std::vector<FileRange> none;
  return none;
}

std::optional<RuntimeFunction> V8Data::FunctionAt(uint64_t file_offset) const {
  const v8::Builtin* const builtin = builtins_.At(file_offset);
  if (builtin == nullptr) return std::nullopt;
  return RuntimeFunction{.place = builtin->file_offset,
                         .name = builtin->name,
                         .is_plumbing = v8::IsPlumbing(builtin->name)};
}

absl::StatusOr<std::shared_ptr<const StackInstance>> V8Data::Attach(ProcessMemory& /*memory*/,
                                                                    uint64_t /*base*/) const {
  if (!layout_->is_supported) return absl::UnimplementedError(layout_->reason);
  return std::make_shared<const v8::Instance>(layout_);
}

RuntimePlace V8Data::PlaceOf(uint64_t word, uint64_t second) const {
  return v8::PlaceOfFrame(word, second);
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> V8Data::ReadCode(
    ProcessMemory& /*memory*/, uint64_t /*base*/, const RuntimePlace& /*place*/) const {
  return absl::DataLossError("the process is not known");
}

}  // namespace stackray
