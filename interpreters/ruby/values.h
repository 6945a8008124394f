// Ruby's strings, arrays, names by number and class names in a process's memory.
// Input:   the memory of a process that writes meanwhile: nothing is trusted, everything bounded;
// nullopt where it makes no sense. Threads: one at a time.
#ifndef STACKRAY_INTERPRETERS_RUBY_VALUES_H_
#define STACKRAY_INTERPRETERS_RUBY_VALUES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/functional/function_ref.h"
#include "interpreters/process_memory.h"
#include "interpreters/ruby/ruby_layouts.h"

namespace stackray {

inline constexpr uint64_t kMaxRubyTextBytes = 4096;  // Longer ones are cut.

// The low bits of an object's flags: its type, and of an internal object what it is (enum
// imemo_type).
enum class RubyType : uint32_t {
  kClass = 0x02,
  kModule = 0x03,
  kString = 0x05,
  kArray = 0x07,
  kCref = 0x101a,
  kSvar = 0x201a,
  kMethodEntry = 0x601a,
  kInstructions = 0x701a,
};

class RubyValues {
 public:
  // All outlive this. `names_by_number`: address of the variable with the array of names; 0: not
  // known.
  RubyValues(ProcessMemory& memory, const RubyFields& fields, uint64_t names_by_number)
      : memory_(memory), fields_(fields), names_by_number_(names_by_number) {}

  std::optional<uint64_t> Word(uint64_t address);
  bool Is(uint64_t object, RubyType type);
  std::optional<std::string> Text(uint64_t string);
  std::optional<uint64_t> Item(uint64_t array, uint64_t index);
  // Of a method, variable or constant.
  std::optional<std::string> Name(uint64_t id);
  // "Foo::Bar", without a name nullopt.
  std::optional<std::string> ClassName(uint64_t klass);
  // "Foo::Bar#name"; "Foo::Bar.name" for a method of Foo::Bar itself; without a name of the class
  // only the method's.
  std::string QualifiedName(uint64_t owner, const std::string& method);

 private:
  std::optional<uint64_t> Extension(uint64_t klass);  // Address of rb_classext_struct.
  // The first wanted value among those of a class's variables that no program can set (to 3.1).
  std::optional<uint64_t> FindHidden(
      uint64_t klass, absl::FunctionRef<bool(uint64_t id, uint64_t value)> is_wanted);
  std::optional<uint64_t> AttachedObject(uint64_t singleton);

  ProcessMemory& memory_;
  const RubyFields& fields_;
  const uint64_t names_by_number_;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_RUBY_VALUES_H_
