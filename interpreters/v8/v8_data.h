// What is true of one file with V8: the layout of its objects, and its builtins.
#ifndef STACKRAY_INTERPRETERS_V8_V8_DATA_H_
#define STACKRAY_INTERPRETERS_V8_V8_DATA_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "interpreters/runtime.h"
#include "interpreters/v8/builtins.h"
#include "interpreters/v8/layout.h"

namespace stackray {

class V8Data : public RuntimeData {
 public:
  // `returns`: see returns_of_frames().
  V8Data(v8::V8Layout layout, v8::Builtins builtins, std::vector<uint64_t> returns)
      : layout_(std::make_shared<const v8::V8Layout>(std::move(layout))),
        builtins_(std::move(builtins)),
        returns_(std::move(returns)) {}

  FrameType type() const override { return FrameType::kV8; }
  std::string name() const override;
  bool supported() const override { return layout_->is_supported; }
  bool is_of_stack() const override { return true; }
  absl::Status Publish(uint32_t runtime, RuntimeMemory& memory) const override;
  const std::vector<FileRange>& loop_code() const override;
  const std::vector<uint64_t>& returns_of_frames() const override { return returns_; }
  std::optional<RuntimeFunction> FunctionAt(uint64_t file_offset) const override;
  absl::StatusOr<std::shared_ptr<const StackInstance>> Attach(ProcessMemory& memory,
                                                              uint64_t base) const override;
  RuntimePlace PlaceOf(uint64_t word, uint64_t second) const override;
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCode(
      ProcessMemory& memory, uint64_t base, const RuntimePlace& place) const override;

 private:
  const std::shared_ptr<const v8::V8Layout> layout_;
  const v8::Builtins builtins_;
  const std::vector<uint64_t> returns_;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_V8_V8_DATA_H_
