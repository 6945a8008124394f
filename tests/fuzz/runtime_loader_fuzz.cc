// libs: stackray_interpreters
// What the runtimes' loaders make of any file: Python's, Ruby's, PHP's, Perl's and Lua's layouts
// from its symbols, sections, data and instructions. Whatever they recognise has a short name, code
// that lies in the file, and a layout to publish; names of frames are then read by that layout from
// memory that says anything, the file itself over and over.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>

#include "interpreters/lua/loader.h"
#include "interpreters/perl/loader.h"
#include "interpreters/php/loader.h"
#include "interpreters/python/loader.h"
#include "interpreters/ruby/loader.h"
#include "kernel/runtime_memory.h"
#include "tests/fuzz/input_memory.h"

namespace {

constexpr size_t kMostRanges = 4096, kMostNameBytes = 64;
constexpr uint64_t kMostMemory = 1 << 20;

class LastLayout : public stackray::RuntimeMemory {
 public:
  absl::Status Put(uint32_t /*runtime*/, const runtime_layout& layout) override {
    layout_ = layout;
    return absl::OkStatus();
  }
  absl::Status PutProcess(const process_key&, const stack_process&) override {
    return absl::OkStatus();
  }
  void RemoveProcess(const process_key&) override {}
  void SayNone(const process_key&) override {}
  uint32_t kind() const { return layout_.kind; }

 private:
  runtime_layout layout_ = {};
};

void CheckRanges(std::span<const stackray::FileRange> ranges, size_t file_bytes) {
  if (ranges.size() > kMostRanges) std::abort();
  for (const stackray::FileRange& range : ranges)
    if (range.begin >= range.end || range.end > file_bytes) std::abort();
}

// A few frames whose words are in the file.
void ReadFrames(const stackray::RuntimeData& runtime, std::span<const uint8_t> file) {
  stackray::InputMemory memory(file, kMostMemory);
  for (size_t at = 0; at + 16 <= std::min<size_t>(file.size(), 96); at += 16) {
    const stackray::RuntimePlace place =
        runtime.PlaceOf(stackray::NumberAt<uint64_t>(file, at) & stackray::kRuntimeWordMask,
                        stackray::NumberAt<uint64_t>(file, at + 8));
    const auto code = runtime.ReadCode(memory, 0, place);
    if (code.ok()) (void)(*code)->LineAt(place.instruction);
  }
}

void Check(const stackray::RuntimeData& runtime, std::span<const uint8_t> file) {
  if (runtime.name().empty() || runtime.name().size() > kMostNameBytes) std::abort();
  CheckRanges(runtime.loop_code(), file.size());
  CheckRanges(runtime.loop_entry_code(), file.size());
  LastLayout memory;
  if (!runtime.Publish(1, memory).ok()) std::abort();
  if (!runtime.supported() && memory.kind() != RUNTIME_NONE) std::abort();
  for (const stackray::FileRange& range : runtime.loop_code())
    if (runtime.PartOfLoop(range.begin) == stackray::LoopPart::kNone) std::abort();
  (void)runtime.made_code_rule();
  ReadFrames(runtime, file);
}

template <typename Loader>
void Load(const stackray::ElfImage& image, const stackray::ByteSource& source,
          std::span<const uint8_t> file) {
  if (const auto runtime = Loader().Recognise(image, source)) Check(*runtime, file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> file(data, size);
  const stackray::MemorySource source(file);
  const absl::StatusOr<stackray::ElfImage> image = stackray::ElfImage::Create(source);
  if (!image.ok()) return 0;
  Load<stackray::PythonLoader>(*image, source, file);
  Load<stackray::RubyLoader>(*image, source, file);
  Load<stackray::PhpLoader>(*image, source, file);
  Load<stackray::PerlLoader>(*image, source, file);
  Load<stackray::LuaLoader>(*image, source, file);
  return 0;
}
