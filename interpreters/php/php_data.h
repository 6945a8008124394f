// What is true of one executable with a PHP inside.
#ifndef STACKRAY_INTERPRETERS_PHP_PHP_DATA_H_
#define STACKRAY_INTERPRETERS_PHP_PHP_DATA_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bpf/shared/php.h"
#include "bpf/shared/records.h"
#include "interpreters/php/function.h"
#include "interpreters/php/php_layouts.h"
#include "interpreters/runtime.h"

namespace stackray {

struct PhpVersion {
  uint32_t major = 0, minor = 0;
  friend bool operator==(const PhpVersion&, const PhpVersion&) = default;
};

// Places of the variables that BPF reads, as php_layout has them.
struct PhpVariables {
  uint64_t globals_at = 0;
  uint64_t generator_class_at = 0;
  uint32_t globals =
      PHP_GLOBALS_ONE;  // enum php_globals; with another, how the thread finds its block:
  uint32_t tls_kind = PYTHON_TLS_NONE;
  uint64_t tls_at = 0;
  int64_t tls_offset = 0;
};

class PhpData : public RuntimeData {
 public:
  // Not supported() where the version has no row.
  static std::shared_ptr<const PhpData> Make(const PhpVersion& version,
                                             const PhpVariables& variables,
                                             std::vector<FileRange> loop_code,
                                             std::optional<uint16_t> loop_rule = std::nullopt);

  FrameType type() const override { return FrameType::kPhp; }
  std::string name() const override { return name_; }
  bool supported() const override { return reader_.has_value(); }
  absl::Status Publish(uint32_t runtime, RuntimeMemory& memory) const override;
  const std::vector<FileRange>& loop_code() const override { return loop_code_; }
  LoopPart PartOfLoop(uint64_t file_offset) const override;
  bool IsCFunction(uint64_t word, uint64_t second) const override;
  // The JIT's code takes the stack frame of the loop, from which it is jumped to, as it is.
  std::optional<uint16_t> made_code_rule() const override { return loop_rule_; }
  MadePage LookAtMadeCode(uint64_t offset, std::span<const uint8_t> first_page) const override;
  RuntimePlace PlaceOf(uint64_t word, uint64_t second) const override;
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCode(
      ProcessMemory& memory, uint64_t base, const RuntimePlace& place) const override;
  // All zeros of an unsupported version.
  const php_layout& layout() const { return layout_; }
  const PhpVersion& version() const { return version_; }

 private:
  std::string name_;
  PhpVersion version_;
  php_layout layout_ = {};
  std::optional<PhpFunctionReader> reader_;
  std::vector<FileRange> loop_code_;
  std::optional<uint16_t> loop_rule_;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PHP_PHP_DATA_H_
