// Unwind rows of a Go program, from its table of functions (pclntab): how far the stack pointer is
// from the return address, instruction by instruction. Stripped programs have it too, and unlike
// Go's .debug_frame it lets us say where rbp was saved: in every function with a frame right below
// the return address. Where the runtime goes over to another stack, go_switch.h says what holds.
// x86-64 and arm64, Go 1.18 to 1.26.
//
// Sources: runtime/symtab.go, internal/abi/symtab.go (funcID, funcFlag),
// cmd/internal/obj/x86/obj6.go and cmd/internal/obj/arm64/obj7.go (prologues).
// Input:   a foreign file, so nothing in it is trusted; a page costs bounded work.
// Memory:  some 20 KiB of windows.
// Threads: one at a time.
#ifndef STACKRAY_SYMBOLIZER_CFI_GO_FRAMES_H_
#define STACKRAY_SYMBOLIZER_CFI_GO_FRAMES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/cfi/byte_windows.h"
#include "symbolizer/cfi/go_switch.h"
#include "symbolizer/cfi/page_encode.h"
#include "symbolizer/cfi/rule_encode.h"
#include "symbolizer/elf_image.h"
#include "symbolizer/go/go_layout.h"

namespace stackray::cfi {

class GoFrames {
 public:
  // nullptr: no Go program, or one of another machine or version. `source` outlives the result,
  // `image` is not kept.
  static std::unique_ptr<GoFrames> Create(const ElfImage& image, const ByteSource& source);

  // Part of a page that is one segment's.
  struct Piece {
    uint64_t begin = 0, end = 0;  // ELF addresses.
    uint64_t file_offset = 0;     // Of `begin`.
    uint32_t page_offset = 0;     // Of `begin`.
  };
  // Puts the rows of the piece's functions into `rows`, which has none from there on. Functions
  // that the table gives no stack sizes have none. Errors: Unavailable, OutOfRange (the file cannot
  // be read any more).
  absl::Status AppendRows(const Piece& piece, RuleEncoder* encoder, PageRows* rows);

  // Was the program built with the race detector, whose C code is called with the caller's stack
  // pointer in r12? Reads all names at the first call, so it is asked where there is C code. False
  // where they cannot be read.
  bool HasRaceDetector();

  size_t memory_bytes() const;

 private:
  GoFrames(const ByteSource& source, const GoLayout& layout, const ElfImage& image);
  struct Function {
    uint64_t entry = 0, end = 0;  // ELF addresses.
    uint32_t name = 0, stack = 0;
    uint8_t kind = 0, flags = 0;
  };
  std::optional<uint64_t> EntryAt(uint64_t number);
  std::optional<uint64_t> FindFunction(uint64_t address);
  std::optional<Function> ReadFunction(uint64_t number);
  std::string ReadName(uint32_t offset);
  std::vector<GoDepth> ReadDepths(const Function& function);
  std::vector<uint8_t> ReadText(const Function& function, const Piece& piece);
  uint64_t SavedFrom(const Function& function, const std::vector<GoDepth>& depths,
                     const std::vector<uint8_t>& text) const;
  void AppendFunction(uint64_t number, const Function& function, const Piece& piece,
                      RuleEncoder* encoder, PageRows* rows);
  bool HasKnownFrame(const Function& function, const std::vector<GoDepth>& depths,
                     const std::vector<uint8_t>& text) const;
  u16 CodeOfDepth(int32_t depth, bool saves_fp, RuleEncoder* encoder) const;
  std::optional<GoRuntime> RuntimeNear(uint64_t number, const Piece& piece);
  absl::Status ReadStatus() const;

  const ByteSource& source_;
  const GoLayout layout_;
  const bool is_arm64_;
  ByteWindows functions_, values_, names_;
  const uint64_t program_entry_;  // 0: it is not in Go's code.
  std::optional<GoRuntime> runtime_;
  std::optional<bool> has_race_detector_;
  struct Overwrite {
    uint32_t begin, end;
    u16 code;
  };
  std::vector<Overwrite> overwrites_;  // Of the piece at hand.
  int64_t budget_ = 0;
};

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_GO_FRAMES_H_
