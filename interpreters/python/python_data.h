// What is true of one executable with a CPython inside.
#ifndef STACKRAY_INTERPRETERS_PYTHON_PYTHON_DATA_H_
#define STACKRAY_INTERPRETERS_PYTHON_PYTHON_DATA_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "interpreters/python/code_object.h"
#include "interpreters/python/debug_offsets.h"
#include "interpreters/python/python_layouts.h"
#include "interpreters/runtime.h"

namespace stackray {

// Places of the variables that BPF reads, as python_layout has them. 0: not found.
struct PythonVariables {
  uint64_t interpreters_at = 0;
  uint64_t current_at = 0;  // The thread state that holds the lock; to 3.11.
  uint32_t tls_kind = 0;    // enum python_tls; from 3.12 on.
  uint64_t tls_at = 0;
  int64_t tls_offset = 0;
};

// Where code of the interpreter lies in the file.
struct PythonCodePlaces {
  std::vector<FileRange> loop;
  std::vector<FileRange> carriers;         // call_carriers.h; ascending.
  std::vector<FileRange> made_code_entry;  // 3.15's _PyJIT_Entry().
};

class PythonData : public RuntimeData {
 public:
  // A version that is known. `fields` are its own.
  static std::shared_ptr<const PythonData> Make(const PythonBuild& build,
                                                const PythonFields& fields,
                                                const PythonVariables& variables,
                                                PythonCodePlaces code);
  // A version that is not: `version` as far as it is known, such as "3.99".
  static std::shared_ptr<const PythonData> MakeUnsupported(const std::string& version,
                                                           std::vector<FileRange> loop_code);

  FrameType type() const override { return FrameType::kPython; }
  std::string name() const override { return name_; }
  bool supported() const override { return reader_.has_value(); }
  absl::Status Publish(uint32_t runtime, RuntimeMemory& memory) const override;
  const std::vector<FileRange>& loop_code() const override { return code_.loop; }
  bool makes_code() const override;
  LoopPart PartOfLoop(uint64_t file_offset) const override;
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCode(
      ProcessMemory& memory, uint64_t base, const RuntimePlace& place) const override;
  // All zeros of an unsupported version.
  const python_layout& layout() const { return layout_; }
  const PythonBuild& build() const { return build_; }

 private:
  std::string name_;
  PythonBuild build_;
  python_layout layout_ = {};
  std::optional<PythonCodeReader> reader_;
  PythonCodePlaces code_;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PYTHON_PYTHON_DATA_H_
