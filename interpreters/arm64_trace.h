// What a small function of arm64 code does with memory: which words it loads, from where, and what
// it returns. Runtimes keep variables that no symbol names; such a function says where they are.
//
// The instructions are followed one behind the other, past branches that are taken rarely (a check
// for null) and into the first functions that are called, each register being known as a constant,
// the thread pointer, a loaded word, or sums of these.
// Source:  Arm Architecture Reference Manual for A-profile, chapter C4 (encodings); ELF for the Arm
//          64-bit Architecture, section 5 (how thread-local variables are asked for).
// Input:   a foreign file's code, so nothing in it is trusted. At most kMostTraced instructions are
//          looked at, of each function that is called as many.
// Threads: a function without state.
#ifndef STACKRAY_INTERPRETERS_ARM64_TRACE_H_
#define STACKRAY_INTERPRETERS_ARM64_TRACE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace stackray {

// The bytes at an ELF address, at most so many; fewer, or none, where the file ends.
using ReadCodeAt = std::function<std::vector<uint8_t>(uint64_t address, uint64_t size_bytes)>;

struct Arm64Value {
  enum class Base : uint8_t {
    kUnknown,
    kConstant,      // `number`
    kThread,        // The thread pointer + number.
    kLoaded,        // What load number `load` brought + number.
    kThreadLoaded,  // The sum of both: a variable at a distance that a slot says.
    kDescriptor,    // What the TLS descriptor at the ELF address `descriptor` stands for + number.
    kThreadDescriptor,  // kDescriptor above the thread pointer: a variable's address.
    kBits,              // `bits` bits of what was loaded, from bit `number` on.
  };
  Base base = Base::kUnknown;
  uint64_t number = 0;
  size_t load = 0;
  uint64_t descriptor = 0;
  uint32_t bits = 0;

  bool is(Base of) const { return base == of; }
  // Does it lie in the thread's own memory?
  bool is_thread_local() const {
    return is(Base::kThread) || is(Base::kThreadLoaded) || is(Base::kThreadDescriptor);
  }
};

struct Arm64Load {
  Arm64Value address;
  uint32_t bytes = 8;
};

struct Arm64Call {
  uint64_t target = 0;
  Arm64Value first, second;  // Its arguments.
  bool is_last = false;      // A jump: what it returns is returned.
};

struct Arm64Trace {
  std::vector<Arm64Load> loads;  // In their order.
  std::vector<Arm64Call> calls;  // Of the function itself.
  Arm64Value result;
};

inline constexpr size_t kMostTraced = 64;  // Of each function.

Arm64Trace TraceArm64(const ReadCodeAt& read, uint64_t function);

// The target of a bl, where `instruction` is one at `address`.
std::optional<uint64_t> Arm64CallTarget(uint32_t instruction, uint64_t address);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_ARM64_TRACE_H_
