// What every runtime's folder implements: a Loader that recognises executables, and the Data of one
// executable. What is true of one process (an Instance in the sense of docs/adding-a-runtime.md) is
// its memory, and what was read from it, which Runtimes keeps.
#ifndef STACKRAY_INTERPRETERS_RUNTIME_H_
#define STACKRAY_INTERPRETERS_RUNTIME_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bpf/shared/records.h"
#include "interpreters/mixed_stack.h"
#include "interpreters/process_memory.h"
#include "interpreters/stack_runtime.h"
#include "kernel/runtime_memory.h"
#include "profile/frame.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/cfi/page_encode.h"
#include "symbolizer/elf_image.h"

namespace stackray {

// Code of one function of a runtime, read from a process: what all its instructions share.
class RuntimeCode {
 public:
  virtual ~RuntimeCode() = default;
  // The line at `instruction`, as the frame word has it.
  virtual SourceLine LineAt(int32_t instruction) const = 0;
  // The lines of a place where functions are inlined, innermost first.
  virtual std::vector<SourceLine> LinesAt(int32_t instruction) const {
    return {LineAt(instruction)};
  }
  virtual size_t bytes() const = 0;  // Of memory.
};

// A frame's two words (FRAME_RUNTIME, FRAME_OF_STACK in bpf/shared/records.h), taken apart: a code,
// which `code`
// and `check` identify, and a place in it.
struct RuntimePlace {
  uint64_t code = 0, check = 0;
  int32_t instruction = 0;
};
// The first word without its kind.
inline constexpr uint64_t kRuntimeWordMask = (uint64_t{1} << FRAME_KIND_SHIFT) - 1;

// A run of code, by its place in the file.
struct FileRange {
  uint64_t begin = 0, end = 0;
  bool Contains(uint64_t offset) const { return offset >= begin && offset < end; }
};

// A function of a runtime's own file that shows as a frame of the runtime: a builtin.
struct RuntimeFunction {
  uint64_t place = 0;        // Of its first byte in the file.
  std::string_view name;     // Lives as long as the RuntimeData.
  bool is_plumbing = false;  // Only carries calls: hidden, as loops are.
};

// What is true of one executable that holds a runtime. Immutable; any thread may read it.
class RuntimeData {
 public:
  virtual ~RuntimeData() = default;
  virtual FrameType type() const = 0;
  virtual std::string name() const = 0;  // "python 3.11".
  // False: recognised, but its frames cannot be read; name() says what it is.
  virtual bool supported() const = 0;
  // Of kind STACK: its frames are on the C stack itself, and Attach() is asked for each process.
  virtual bool is_of_stack() const { return false; }
  // What the process of this memory has. `base` as of ReadCode().
  // Errors: Unavailable (the runtime has not begun yet: ask again later), NotFound (the process is
  // gone), DataLoss (nothing that makes sense), Unimplemented (another kind, an unknown version).
  virtual absl::StatusOr<std::shared_ptr<const StackInstance>> Attach(ProcessMemory& /*memory*/,
                                                                      uint64_t /*base*/) const {
    return absl::UnimplementedError("its frames are not on the stack");
  }
  // Offsets in the file of the last bytes of calls whose frames are the runtime's, though their
  // code is the file's (SPECIAL_RUNTIME). Ascending.
  virtual const std::vector<uint64_t>& returns_of_frames() const {
    static const std::vector<uint64_t> none;
    return none;
  }
  virtual std::optional<RuntimeFunction> FunctionAt(uint64_t /*file_offset*/) const {
    return std::nullopt;
  }
  // Tells BPF.
  virtual absl::Status Publish(uint32_t runtime, RuntimeMemory& memory) const = 0;
  // Where the native frames lie that run the runtime's frames, as far as that is known.
  virtual const std::vector<FileRange>& loop_code() const = 0;
  // Code that calls the loop: right behind a frame of the loop it is the same native frame to us,
  // and one of its own where the loop's is missing.
  virtual const std::vector<FileRange>& loop_entry_code() const {
    static const std::vector<FileRange> none;
    return none;
  }

  // How frames of JIT code of this runtime are unwound, where all of it is unwound alike: by this
  // code of bpf/shared/unwind_table.h. Such a frame stands for one of the loop.
  virtual std::optional<uint16_t> made_code_rule() const { return std::nullopt; }
  // A part of the JIT's code that is unwound otherwise: the first page, whose content from file
  // offset `offset` on is `first_page`.
  struct MadePage {
    std::vector<cfi::PageRow> rows;  // Empty: unwound as the rest.
    std::vector<FileRange> called;   // Functions that have a frame beside the loop's, ascending.
  };
  virtual MadePage LookAtMadeCode(uint64_t /*offset*/,
                                  std::span<const uint8_t> /*first_page*/) const {
    return {};
  }

  // Does it make code in memory of no file (a JIT)? A frame there that the loop has called is the
  // loop's (LoopPart::kMade).
  virtual bool makes_code() const { return false; }
  // Where that is called from; nullopt: it makes none, or nothing is known of it.
  virtual std::optional<made_code_callers> CallersOfMadeCode() const { return std::nullopt; }

  virtual LoopPart PartOfLoop(uint64_t file_offset) const {
    const auto contains = [&](const FileRange& range) { return range.Contains(file_offset); };
    if (std::any_of(loop_code().begin(), loop_code().end(), contains)) return LoopPart::kLoop;
    return std::any_of(loop_entry_code().begin(), loop_entry_code().end(), contains)
               ? LoopPart::kEntry
               : LoopPart::kNone;
  }
  // Is the frame of these words one of a function that is written in C? Of a runtime whose C
  // functions have frames.
  virtual bool IsCFunction(uint64_t /*word*/, uint64_t /*second*/) const { return false; }

  // As records.h says, unless the runtime packs its words in another way.
  virtual RuntimePlace PlaceOf(uint64_t word, uint64_t second) const {
    return {.code = word & FRAME_OFFSET_MASK,
            .check = second >> 32,
            .instruction = static_cast<int32_t>(static_cast<uint32_t>(second))};
  }
  // Reads the code of a frame, by what PlaceOf() said. `base`: where byte 0 of the file's text
  // mapping would be in the process; 0: not known.
  // Errors: NotFound (the process is gone), DataLoss (other content now, or none that makes sense).
  // Of kind STACK the instance is asked in its place.
  virtual absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCode(
      ProcessMemory& memory, uint64_t base, const RuntimePlace& place) const = 0;
};

class RuntimeLoader {
 public:
  virtual ~RuntimeLoader() = default;
  // nullptr: not this runtime. Reads the file during the call only.
  virtual std::shared_ptr<const RuntimeData> Recognise(const ElfImage& image,
                                                       const ByteSource& source) const = 0;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_RUNTIME_H_
