// Objects of the Java heap: their classes, where a class's fields are, and the text of Strings. How
// references look is found out by trying: whichever form leads to an object of the right class.
//
// Input:   the memory of a process whose collector moves objects meanwhile: each object's class is
//          looked at, each list and chain has a bound.
// Memory:  at most kMostNameUnits characters of a String, and a class's list of fields, 64 KiB.
// Threads: one at a time.
#ifndef STACKRAY_INTERPRETERS_HOTSPOT_JAVA_HEAP_H_
#define STACKRAY_INTERPRETERS_HOTSPOT_JAVA_HEAP_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "interpreters/hotspot/layout.h"
#include "interpreters/process_memory.h"

namespace stackray::hotspot {

inline constexpr uint32_t kMostNameUnits = 256;  // Of a name; what is longer is cut.

// Where the class keeps a field's value in its objects. 0: it has no such field.
uint32_t FieldOffset(ProcessMemory& memory, const Layout& layout, uint64_t klass,
                     std::string_view name, std::string_view signature);

// UTF-16 units as UTF-8; half of a pair becomes '?'.
std::string TextOfUnits(std::u16string_view units);

struct Reference {
  uint64_t raw = 0;      // As the field has it.
  uint64_t address = 0;  // 0: null, or no reference.
  // ZGC may have moved the object since the reference was written: what is there now can be
  // another one of the same class.
  bool may_be_old = false;
};

class JavaHeap {
 public:
  explicit JavaHeap(const Layout& layout) : layout_(layout) {}

  // What java.lang.Thread calls `thread`, an object of it or of a class below it.
  struct ThreadName {
    std::string text;
    bool may_be_old = false;
  };
  // `at`: of a root, which is never compressed.
  std::optional<ThreadName> NameOfThread(ProcessMemory& memory, uint64_t at);

 private:
  enum class ClassForm { kNarrow, kWhole, kInMark };
  enum class ReferenceForm { kNarrow, kWhole };
  struct ThreadClass {
    ClassForm class_form = ClassForm::kNarrow;
    uint64_t klass = 0;
    uint32_t name = 0;
  };
  struct StringClass {
    ReferenceForm form = ReferenceForm::kNarrow;
    uint64_t klass = 0;
    uint32_t value = 0, coder = 0;  // 0: it has none, its value is char[].
  };

  Reference Decode(ProcessMemory& memory, uint64_t raw) const;
  Reference ReadField(ProcessMemory& memory, uint64_t at, ReferenceForm form) const;
  uint64_t ClassOf(ProcessMemory& memory, uint64_t object, ClassForm form) const;
  bool IsCalled(ProcessMemory& memory, uint64_t klass, std::string_view name) const;
  bool IsThread(ProcessMemory& memory, uint64_t klass) const;
  uint64_t ThreadClassAbove(ProcessMemory& memory, uint64_t klass) const;
  bool LearnThread(ProcessMemory& memory, uint64_t thread);
  bool LearnString(ProcessMemory& memory, uint64_t name_at);
  std::optional<std::string> TextOf(ProcessMemory& memory, const Reference& string,
                                    bool* may_be_old) const;

  const Layout& layout_;  // The owner's.
  std::optional<ThreadClass> thread_;
  std::optional<StringClass> string_;
};

}  // namespace stackray::hotspot

#endif  // STACKRAY_INTERPRETERS_HOTSPOT_JAVA_HEAP_H_
