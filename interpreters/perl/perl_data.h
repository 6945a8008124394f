// What is true of one executable with a Perl inside.
#ifndef STACKRAY_INTERPRETERS_PERL_PERL_DATA_H_
#define STACKRAY_INTERPRETERS_PERL_PERL_DATA_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bpf/shared/perl.h"
#include "interpreters/perl/code.h"
#include "interpreters/perl/perl_layouts.h"
#include "interpreters/runtime.h"

namespace stackray {

struct PerlVersion {
  uint32_t major = 0, minor = 0;
  friend bool operator==(const PerlVersion&, const PerlVersion&) = default;
};

// Places of the variables that BPF reads, as perl_layout has them.
struct PerlVariables {
  uint64_t key_at = 0;  // With threads; without them:
  uint64_t stack_info_at = 0, cop_at = 0, op_at = 0, stack_pointer_at = 0;
  bool has_threads() const { return key_at != 0; }
};

struct PerlLoopCode {
  std::vector<FileRange> loop;  // The loop.
  std::vector<FileRange> link;  // Ops that begin the loop anew and go on with what it was at.
  std::vector<FileRange> main;  // What runs the main program.
};

class PerlData : public RuntimeData {
 public:
  // Not supported() where the version has no row.
  static std::shared_ptr<const PerlData> Make(const PerlVersion& version,
                                              const PerlVariables& variables, PerlLoopCode code);

  FrameType type() const override { return FrameType::kPerl; }
  std::string name() const override { return name_; }
  bool supported() const override { return reader_.has_value(); }
  absl::Status Publish(uint32_t runtime, RuntimeMemory& memory) const override;
  const std::vector<FileRange>& loop_code() const override { return code_.loop; }
  LoopPart PartOfLoop(uint64_t file_offset) const override;
  RuntimePlace PlaceOf(uint64_t word, uint64_t second) const override;
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCode(
      ProcessMemory& memory, uint64_t base, const RuntimePlace& place) const override;
  // All zeros of an unsupported version.
  const perl_layout& layout() const { return layout_; }
  const PerlVersion& version() const { return version_; }

 private:
  std::string name_;
  PerlVersion version_;
  perl_layout layout_ = {};
  std::optional<PerlCodeReader> reader_;
  PerlLoopCode code_;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PERL_PERL_DATA_H_
