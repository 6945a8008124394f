// A function of a PHP process: what names all its frames.
//
// Names: `function`, `Class::method`, `{closure}` and `Class::{closure}` (from 8.4 on as PHP itself
// names it, `{closure:Class::method():12}`); code outside of functions is `{main}` where nothing
// called it, else `include FILE` or `eval`.
#ifndef STACKRAY_INTERPRETERS_PHP_FUNCTION_H_
#define STACKRAY_INTERPRETERS_PHP_FUNCTION_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "interpreters/php/php_layouts.h"
#include "interpreters/runtime.h"

namespace stackray {

inline constexpr uint64_t kMaxPhpStringBytes = 4096;  // What is longer is cut.

// A zend_string's text up to its first NUL byte (behind it anonymous classes keep where they were
// declared). nullopt: it cannot be read, or is none.
std::optional<std::string> ReadPhpString(ProcessMemory& memory, const PhpFields& fields,
                                         uint64_t address);

class PhpFunction : public RuntimeCode {
 public:
  // `name` is empty for code outside of functions.
  PhpFunction(std::string name, std::string file, int64_t first_line)
      : name_(std::move(name)), file_(std::move(file)), first_line_(first_line) {}

  SourceLine LineAt(int32_t instruction) const override;
  size_t bytes() const override { return sizeof(*this) + name_.size() + file_.size(); }

 private:
  const std::string name_, file_;
  const int64_t first_line_;
};

// Reads what the words of a frame name (bpf/shared/php.h).
struct PhpFunctionReader {
  PhpFields fields;

  // What PhpData::PlaceOf() made of the words.
  // Errors: as RuntimeData::ReadCode.
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> Read(ProcessMemory& memory, uint64_t place,
                                                          uint32_t check) const;

 private:
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadFunction(ProcessMemory& memory,
                                                                  uint64_t address,
                                                                  uint32_t check) const;
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadClosure(ProcessMemory& memory,
                                                                 uint64_t place,
                                                                 uint32_t check) const;
  std::optional<std::string> ReadClassName(ProcessMemory& memory, uint64_t address) const;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PHP_FUNCTION_H_
