// Rows for return addresses that are a function's first byte (last_call.h). They are looked up one
// byte before it, where no instruction begins that anybody could be interrupted at: that byte gets
// a row of its own.
//   No call ends there:     SPECIAL_START, a stack's end.
//   A call to a known place: the row that holds there, as a rule that also says where the call
//   leads (enum last_call_kind).
//   Another call:           nothing; it is believed.
// What aligns functions has SPECIAL_START as a whole.
// Input:   a foreign file's text and rows; every read is checked.
// Cost:    one read of a page's text where functions touch each other, and one of 16 bytes where
//          such a call leads to a stub.
#ifndef STACKRAY_SYMBOLIZER_CFI_START_MARKS_H_
#define STACKRAY_SYMBOLIZER_CFI_START_MARKS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/cfi/machine.h"
#include "symbolizer/cfi/page_encode.h"
#include "symbolizer/cfi/rule_encode.h"

namespace stackray::cfi {

// What the marks need to know of the file.
class StartContext {
 public:
  virtual ~StartContext() = default;
  virtual std::optional<uint64_t> OffsetOf(uint64_t address) const = 0;  // nullopt: no code.
  // Bytes of the function that begins at the address; nullopt: none that the tables know does.
  virtual std::optional<uint32_t> FunctionBytes(uint64_t address) = 0;
};

struct FunctionStart {
  uint64_t address = 0;
  uint32_t page_offset = 0;  // Of the byte before it.
};

// `starts` ascend; those that nothing holds in front of are left alone. Errors: Unavailable,
// OutOfRange (the file cannot be read any more).
absl::Status MarkStarts(const ByteSource& source, std::span<const FunctionStart> starts,
                        const Machine& machine, StartContext* context, RuleEncoder* encoder,
                        PageRows* rows);

// What lies between rows, is too short for a function and ends where functions are aligned to.
void MarkAlignment(PageRows* rows);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_START_MARKS_H_
