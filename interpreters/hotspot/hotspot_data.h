// What is true of one file with a HotSpot JVM: where its tables lie. Everything else is a process's
// own (instance.h).
#ifndef STACKRAY_INTERPRETERS_HOTSPOT_HOTSPOT_DATA_H_
#define STACKRAY_INTERPRETERS_HOTSPOT_HOTSPOT_DATA_H_

#include <memory>
#include <string>
#include <vector>

#include "interpreters/hotspot/vm_tables.h"
#include "interpreters/runtime.h"

namespace stackray {

class HotSpotData : public RuntimeData {
 public:
  // `places` count from where byte 0 of the text mapping would be.
  HotSpotData(const hotspot::VmSymbols& places, bool is_supported)
      : places_(places), is_supported_(is_supported) {}

  FrameType type() const override { return FrameType::kHotSpot; }
  std::string name() const override { return "hotspot"; }
  bool supported() const override { return is_supported_; }
  bool is_of_stack() const override { return true; }
  absl::Status Publish(uint32_t runtime, RuntimeMemory& memory) const override;
  const std::vector<FileRange>& loop_code() const override;
  absl::StatusOr<std::shared_ptr<const StackInstance>> Attach(ProcessMemory& memory,
                                                              uint64_t base) const override;
  RuntimePlace PlaceOf(uint64_t word, uint64_t second) const override;
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCode(
      ProcessMemory& memory, uint64_t base, const RuntimePlace& place) const override;

 private:
  const hotspot::VmSymbols places_;
  const bool is_supported_;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_HOTSPOT_HOTSPOT_DATA_H_
