// A code object of a CPython process: what names all its frames.
#ifndef STACKRAY_INTERPRETERS_PYTHON_CODE_OBJECT_H_
#define STACKRAY_INTERPRETERS_PYTHON_CODE_OBJECT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "bpf/shared/python.h"
#include "interpreters/python/line_table.h"
#include "interpreters/python/python_layouts.h"
#include "interpreters/runtime.h"

namespace stackray {

class PythonCode : public RuntimeCode {
 public:
  PythonCode(std::string name, std::string file, int64_t first_line, LineTableFormat format,
             uint32_t instruction_bytes, std::vector<uint8_t> line_table)
      : name_(std::move(name)),
        file_(std::move(file)),
        first_line_(first_line),
        format_(format),
        instruction_bytes_(instruction_bytes),
        line_table_(std::move(line_table)) {}

  SourceLine LineAt(int32_t instruction) const override;
  size_t bytes() const override {
    return sizeof(*this) + name_.size() + file_.size() + line_table_.size();
  }

 private:
  const std::string name_, file_;
  const int64_t first_line_;
  const LineTableFormat format_;
  const uint32_t instruction_bytes_;  // Of one unit of the instruction's number in a frame.
  const std::vector<uint8_t> line_table_;
};

// What of a code object is needed to read one.
struct PythonCodeReader {
  PythonFields fields;
  python_layout layout;  // Its check words.
  LineTableFormat format = LineTableFormat::kLocations;
  uint32_t instruction_bytes = 1;

  // Errors: as RuntimeData::ReadCode.
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> Read(ProcessMemory& memory, uint64_t address,
                                                          uint32_t check) const;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PYTHON_CODE_OBJECT_H_
