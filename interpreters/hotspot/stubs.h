// The JVM's stubs: code that its own assembler wrote, one piece a purpose (copies of arrays,
// checksums, ciphers), many of them in one code blob. StubCodeDesc::_list has the begin, the end
// and the name of each (src/hotspot/share/runtime/stubCodeGenerator.hpp, JDK 8 to 28).
//
// Nobody writes unwind tables for them. But each is entered at its begin by a call, so its own
// instructions say what has been pushed at each place that they lead to: that is no guess. A place
// that they reach in two ways which differ, or in none, has no row.
//
// Input:   the memory of a process that writes meanwhile; nothing is trusted, everything bounded.
// Memory:  kMostStubs of them, kMostStubCode bytes of code at a time.
// Threads: functions without state.
#ifndef STACKRAY_INTERPRETERS_HOTSPOT_STUBS_H_
#define STACKRAY_INTERPRETERS_HOTSPOT_STUBS_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bpf/shared/hotspot.h"
#include "interpreters/process_memory.h"
#include "symbolizer/cfi/code_rows.h"

namespace stackray::hotspot {

inline constexpr size_t kMostStubs = 4096;
inline constexpr uint64_t kMostStubCode = 4 << 20;

struct Stub {
  uint64_t begin = 0, end = 0;
  std::string name;  // "sha256_implCompressMB".
};

// Those of the list that lie in the code heaps; ascending, disjoint. Empty also without a list.
// `list_at`: of the variable that points to the first one; 0: not known.
std::vector<Stub> ReadStubs(ProcessMemory& memory, uint64_t list_at, const hotspot_process& heaps);

// Rows of the stubs. `code` is all that lies between the first one's begin and the last one's end.
std::vector<cfi::CodeRows> RowsOfStubs(std::span<const Stub> stubs, std::span<const uint8_t> code);

// As above, of code that is read here, where stubs lie close together at once.
std::vector<cfi::CodeRows> ReadStubRows(ProcessMemory& memory, std::span<const Stub> stubs);

}  // namespace stackray::hotspot

#endif  // STACKRAY_INTERPRETERS_HOTSPOT_STUBS_H_
