// What is true of one executable with a Ruby inside.
#ifndef STACKRAY_INTERPRETERS_RUBY_RUBY_DATA_H_
#define STACKRAY_INTERPRETERS_RUBY_RUBY_DATA_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "interpreters/ruby/ruby_code.h"
#include "interpreters/ruby/ruby_layouts.h"
#include "interpreters/runtime.h"

namespace stackray {

inline constexpr uint32_t kFirstMajorWithJit =
    3;  // YJIT, RJIT: code in memory. 2.6's and 2.7's loads libraries.

struct RubyVersion {
  uint32_t major = 0, minor = 0;
};

// Places of what BPF and the reader need, as ruby_layout counts. 0: not found.
struct RubyVariables {
  uint32_t context_kind = 0;  // enum ruby_context_kind.
  uint64_t context_at = 0;
  int64_t context_offset = 0;
  uint64_t vm_at = 0;
  uint32_t vm_objspace = 0, gc_flags = 0, gc_mask = 0;
  uint64_t names_at = 0;  // Variable: the names by number.
};

// Where the evaluation loop lies in the file.
struct RubyLoopCode {
  std::vector<FileRange> loop;   // vm_exec_core.
  std::vector<FileRange> entry;  // vm_exec, which calls it.
};

class RubyData : public RuntimeData {
 public:
  static std::shared_ptr<const RubyData> Make(const RubyVersion& version, const RubyFields& fields,
                                              const RubyVariables& variables, RubyLoopCode code);
  // A version that is not known.
  static std::shared_ptr<const RubyData> MakeUnsupported(const RubyVersion& version,
                                                         RubyLoopCode code);

  FrameType type() const override { return FrameType::kRuby; }
  std::string name() const override { return name_; }
  bool supported() const override { return reader_.has_value(); }
  absl::Status Publish(uint32_t runtime, RuntimeMemory& memory) const override;
  const std::vector<FileRange>& loop_code() const override { return code_.loop; }
  const std::vector<FileRange>& loop_entry_code() const override { return code_.entry; }
  LoopPart PartOfLoop(uint64_t file_offset) const override;
  bool IsCFunction(uint64_t word, uint64_t second) const override;
  bool makes_code() const override { return supported() && version_.major >= kFirstMajorWithJit; }
  std::optional<made_code_callers> CallersOfMadeCode() const override;
  RuntimePlace PlaceOf(uint64_t word, uint64_t second) const override;
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCode(
      ProcessMemory& memory, uint64_t base, const RuntimePlace& place) const override;

  // All zeros of an unsupported version.
  const ruby_layout& layout() const { return layout_; }
  const RubyVersion& version() const { return version_; }
  const RubyVariables& variables() const { return variables_; }

 private:
  std::string name_;
  RubyVersion version_;
  RubyVariables variables_;
  ruby_layout layout_ = {};
  std::optional<RubyCodeReader> reader_;
  RubyLoopCode code_;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_RUBY_RUBY_DATA_H_
