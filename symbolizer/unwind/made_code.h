// How code that a runtime has made (a JIT's, in shared memory with a name) is left. A plain type.
#ifndef STACKRAY_SYMBOLIZER_UNWIND_MADE_CODE_H_
#define STACKRAY_SYMBOLIZER_UNWIND_MADE_CODE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "bpf/shared/records.h"
#include "bpf/shared/runtime.h"
#include "profile/executable.h"
#include "symbolizer/cfi/page_encode.h"

namespace stackray {

// Codes of bpf/shared/unwind_table.h.
struct MadeCodeRules {
  uint16_t rule = 0;                     // Of all of it,
  std::vector<cfi::PageRow> first_page;  // but of the first page these, if there are any.
};

// Asked of a file that is no ELF file, mapped by a process that has this runtime as well: if the
// runtime made it, how it is left. `first_page`: what is in the first page of the mapping now, from
// file offset `offset` on; as much as can be read.
using RecogniseMadeCode = std::function<std::optional<MadeCodeRules>(
    const FileIdentity& file, uint32_t runtime, uint64_t offset,
    std::span<const uint8_t> first_page)>;

// Of a runtime whose code lies in memory of no file: where that is called from (bpf/made_code.h);
// nullopt: it makes none.
using MadeCodeCallersOf = std::function<std::optional<made_code_callers>(uint32_t runtime)>;

// A process's runtime of kind STACK (bpf/shared/runtimes.h): what BPF is told, and its memory.
struct StackRuntimeOfProcess {
  stack_process process = {};
  std::function<bool(uint64_t address, std::span<uint8_t> to)> read;  // All of `to`, or false.
};
// Of a process with these executable mappings; nullopt: it has none that has begun. Any thread.
using FindStackRuntime = std::function<std::optional<StackRuntimeOfProcess>(
    const process_key& process, std::span<const code_range> ranges)>;

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_UNWIND_MADE_CODE_H_
