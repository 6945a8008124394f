// What names a frame of a compiled method: the method that was compiled, and those that were
// inlined at that place, from the nmethod's debug information (src/hotspot/share/code/pcDesc.hpp,
// debugInfo.hpp).
//
// Input:   the memory of a process that writes meanwhile: nothing is trusted, everything bounded.
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_HOTSPOT_COMPILED_H_
#define STACKRAY_INTERPRETERS_HOTSPOT_COMPILED_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "interpreters/hotspot/layout.h"
#include "interpreters/process_memory.h"
#include "interpreters/runtime.h"

namespace stackray::hotspot {

// A place in an nmethod, as BPF says it.
struct CompiledPlace {
  uint64_t nmethod = 0;
  uint32_t compile_id = 0;
  uint32_t place = 0;  // Offset from the nmethod, with HOTSPOT_RETURN_BIT.
};

// Lines of one such place: functions inlined there, innermost first.
class CompiledCode : public RuntimeCode {
 public:
  explicit CompiledCode(std::vector<SourceLine> lines) : lines_(std::move(lines)) {}
  SourceLine LineAt(int32_t) const override { return lines_.back(); }
  std::vector<SourceLine> LinesAt(int32_t) const override { return lines_; }
  size_t bytes() const override;

 private:
  const std::vector<SourceLine> lines_;  // Never empty.
};

// Errors: as RuntimeData::ReadCode.
absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCompiled(ProcessMemory& memory,
                                                                const Layout& layout,
                                                                const CompiledPlace& at);

// The offset of the scopes of a place in the code, by PcDescs of 16 bytes in ascending order; 0:
// none. A call that may stop the thread has a PcDesc at its return address; of any other place, as
// behind a call of a stub, the next one counts, as the JVM itself has it.
uint32_t ScopeOfPlace(std::span<const uint8_t> pc_descs, int32_t place);

}  // namespace stackray::hotspot

#endif  // STACKRAY_INTERPRETERS_HOTSPOT_COMPILED_H_
