#include "interpreters/hotspot/hotspot_data.h"

#include "absl/status/status.h"
#include "interpreters/hotspot/instance.h"

namespace stackray {

// A layout says nothing of such a runtime: BPF asks for the process.
absl::Status HotSpotData::Publish(uint32_t runtime, RuntimeMemory& memory) const {
  return memory.Put(runtime, runtime_layout{});
}

const std::vector<FileRange>& HotSpotData::loop_code() const {
  static const std::vector<FileRange> none;
  return none;
}

absl::StatusOr<std::shared_ptr<const StackInstance>> HotSpotData::Attach(ProcessMemory& memory,
                                                                         uint64_t base) const {
  if (!is_supported_) return absl::UnimplementedError("a JVM without its tables");
  hotspot::VmSymbols symbols = places_;
  for (uint64_t* address :
       {&symbols.structs, &symbols.types, &symbols.int_constants, &symbols.struct_stride,
        &symbols.type_stride, &symbols.int_constant_stride, &symbols.return_barrier,
        &symbols.continuation_return, &symbols.young_generation, &symbols.old_generation,
        &symbols.stubs})
    if (*address != 0) *address += base;
  return hotspot::Instance::Read(memory, symbols);
}

RuntimePlace HotSpotData::PlaceOf(uint64_t word, uint64_t second) const {
  return hotspot::PlaceOfFrame(word, second);
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> HotSpotData::ReadCode(
    ProcessMemory& /*memory*/, uint64_t /*base*/, const RuntimePlace& /*place*/) const {
  return absl::DataLossError("the process is not known");
}

}  // namespace stackray
