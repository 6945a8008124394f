// The toy runtime for user space: found by its symbol, read from each process, named by its table.
#ifndef STACKRAY_TESTS_TOY_RUNTIME_TOY_RUNTIME_H_
#define STACKRAY_TESTS_TOY_RUNTIME_TOY_RUNTIME_H_

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "interpreters/runtime_file.h"
#include "tests/toy_runtime/toy.h"

namespace stackray {

class ToyCode : public RuntimeCode {
 public:
  explicit ToyCode(std::string name) : name_(std::move(name)) {}
  SourceLine LineAt(int32_t /*instruction*/) const override {
    SourceLine line;
    line.function = name_;
    return line;
  }
  size_t bytes() const override { return name_.size(); }

 private:
  const std::string name_;
};

class ToyInstance : public StackInstance {
 public:
  explicit ToyInstance(const toy_process& toy) : toy_(toy) {}
  stack_process ForBpf() const override {
    stack_process process = {};
    process.kind = RUNTIME_TOY;
    process.toy = toy_;
    return process;
  }
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCode(
      ProcessMemory& memory, const RuntimePlace& place) const override {
    toy_function function = {};
    std::vector<uint8_t> bytes(sizeof(function));
    if (!memory.Read(toy_.functions + place.code * sizeof(function), bytes))
      return absl::NotFoundError("the table is gone");
    std::memcpy(&function, bytes.data(), bytes.size());
    return std::make_shared<const ToyCode>(
        std::string(function.name, strnlen(function.name, TOY_NAME_BYTES)));
  }

 private:
  const toy_process toy_;
};

class ToyData : public RuntimeData {
 public:
  explicit ToyData(uint64_t place) : place_(place) {}
  FrameType type() const override { return FrameType::kToy; }
  std::string name() const override { return "toy"; }
  bool supported() const override { return true; }
  bool is_of_stack() const override { return true; }
  absl::Status Publish(uint32_t runtime, RuntimeMemory& memory) const override {
    return memory.Put(runtime, runtime_layout{});
  }
  const std::vector<FileRange>& loop_code() const override {
    static const std::vector<FileRange> none;
    return none;
  }
  absl::StatusOr<std::shared_ptr<const StackInstance>> Attach(ProcessMemory& memory,
                                                              uint64_t base) const override {
    toy_process toy = {};
    std::vector<uint8_t> bytes(sizeof(toy));
    if (!memory.Read(base + place_, bytes)) return absl::NotFoundError("no toy_vm");
    std::memcpy(&toy, bytes.data(), bytes.size());
    if (toy.magic != TOY_MAGIC) return absl::UnavailableError("it has not begun yet");
    return std::make_shared<const ToyInstance>(toy);
  }
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCode(
      ProcessMemory& /*memory*/, uint64_t /*base*/, const RuntimePlace& /*place*/) const override {
    return absl::DataLossError("the process is not known");
  }

 private:
  const uint64_t place_;
};

class ToyLoader : public RuntimeLoader {
 public:
  std::shared_ptr<const RuntimeData> Recognise(const ElfImage& image,
                                               const ByteSource& source) const override {
    constexpr std::string_view kSymbol = "toy_vm";
    if (!HasDynamicSymbol(image, source, kSymbol).value_or(false)) return nullptr;
    const RuntimeFile file(image, source, kSymbol,
                           [&](std::string_view name) { return name == kSymbol; });
    return std::make_shared<const ToyData>(file.PlaceOf(kSymbol));
  }
};

}  // namespace stackray

#endif  // STACKRAY_TESTS_TOY_RUNTIME_TOY_RUNTIME_H_
