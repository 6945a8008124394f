// What names a Java method: its class, name, signature, file and lines, from Method, ConstMethod,
// ConstantPool and Symbol (src/hotspot/share/oops).
//
// Input:   the memory of a process that writes meanwhile: nothing is trusted, everything bounded. A
//          class that is unloaded gives its memory back at once, and the sample is older. So who
//          shows what is read here has read it by CheckedMemory, which holds at the end.
// Threads: functions without state; a Method is a plain value.
#ifndef STACKRAY_INTERPRETERS_HOTSPOT_METHOD_H_
#define STACKRAY_INTERPRETERS_HOTSPOT_METHOD_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "interpreters/hotspot/layout.h"
#include "interpreters/process_memory.h"
#include "interpreters/runtime.h"

namespace stackray::hotspot {

struct LineEntry {
  int32_t bytecode = 0, line = 0;
};

struct Method {
  std::string function;          // "java.util.HashMap.get".
  std::string system_name;       // "java/util/HashMap.get(Ljava/lang/Object;)Ljava/lang/Object;".
  std::string file;              // "HashMap.java"; empty: not said.
  std::vector<LineEntry> lines;  // In the table's order, which need not ascend.

  // `bytecode` -1: not known, and so is the line.
  SourceLine At(int32_t bytecode) const;
  size_t bytes() const {
    return sizeof(*this) + function.size() + system_name.size() + file.size() +
           lines.size() * sizeof(LineEntry);
  }
};

// `check`: what BPF saw (hotspot_method_check()); nullopt: any.
// Errors: NotFound (the process is gone), DataLoss (no such method any more).
absl::StatusOr<Method> ReadMethod(ProcessMemory& memory, const Layout& layout, uint64_t address,
                                  std::optional<uint32_t> check);

// nullopt: there is none, nothing that can be read, one that nobody holds any more, or no text.
std::optional<std::string> ReadSymbol(ProcessMemory& memory, const Layout& layout,
                                      uint64_t address);
// The symbol that the constant pool has there.
std::optional<std::string> PoolText(ProcessMemory& memory, const Layout& layout, uint64_t pool,
                                    uint16_t index);

// The compressed table that follows the bytecodes, up to where it makes sense.
std::vector<LineEntry> ReadLines(std::span<const uint8_t> bytes, uint32_t excluded);

// Of a class as the VM names it: '/' between packages, and behind a hidden class's name '+' or '/'
// and an address, which is another one in each process and is left out.
std::string ClassText(std::string_view name);

// Modified UTF-8 (the JVM's specification, 4.4.7) as UTF-8, cut at 1 KiB; half of a surrogate pair
// as '?'. nullopt: no such text, or one with control characters, which no compiler makes.
std::optional<std::string> TextOfSymbol(std::span<const uint8_t> bytes);

// A method as a frame's code: an instruction is the bytecode's index + 1, 0 where it is not known.
class InterpretedCode : public RuntimeCode {
 public:
  explicit InterpretedCode(Method method) : method_(std::move(method)) {}
  SourceLine LineAt(int32_t instruction) const override { return method_.At(instruction - 1); }
  size_t bytes() const override { return sizeof(*this) + method_.bytes(); }

 private:
  const Method method_;
};

}  // namespace stackray::hotspot

#endif  // STACKRAY_INTERPRETERS_HOTSPOT_METHOD_H_
