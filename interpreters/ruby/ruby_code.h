// What names a frame of Ruby's: an instruction sequence with its method, a C function, or the
// collector.
#ifndef STACKRAY_INTERPRETERS_RUBY_RUBY_CODE_H_
#define STACKRAY_INTERPRETERS_RUBY_RUBY_CODE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "bpf/shared/ruby.h"
#include "interpreters/process_memory.h"
#include "interpreters/ruby/line_index.h"
#include "interpreters/ruby/ruby_layouts.h"
#include "interpreters/ruby/values.h"
#include "interpreters/runtime.h"

namespace stackray {

// The frame of the collector at work.
inline constexpr char kRubyCollector[] = "[garbage collection]";

class RubyCode : public RuntimeCode {
 public:
  RubyCode(std::string name, std::string file, int64_t first_line, RubyLines lines)
      : name_(std::move(name)),
        file_(std::move(file)),
        first_line_(first_line),
        lines_(std::move(lines)) {}

  SourceLine LineAt(int32_t instruction) const override;
  size_t bytes() const override {
    return sizeof(*this) + name_.size() + file_.size() + lines_.bytes();
  }

 private:
  const std::string name_, file_;
  const int64_t first_line_;
  const RubyLines lines_;
};

// The two words of a frame, taken apart (bpf/shared/ruby.h).
struct RubyFrame {
  uint64_t iseq = 0, method = 0;  // Addresses; 0: none.
  uint64_t check = 0;             // Of a C function: with the instruction's bits.
  uint32_t instruction = 0;
};
RubyFrame TakeRubyFrameApart(uint64_t first, uint64_t second);

// What is needed to read one.
struct RubyCodeReader {
  RubyFields fields;
  ruby_layout layout;

  // `names_by_number`: as RubyValues has it. Errors: as RuntimeData::ReadCode.
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> Read(ProcessMemory& memory,
                                                          uint64_t names_by_number,
                                                          const RubyFrame& frame) const;

 private:
  struct Method {
    uint64_t owner = 0, definition = 0, check = 0;
  };
  absl::StatusOr<Method> ReadMethod(ProcessMemory& memory, uint64_t at) const;
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadFunction(ProcessMemory& memory,
                                                                  RubyValues& values,
                                                                  const RubyFrame& frame) const;
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadInstructions(ProcessMemory& memory,
                                                                      RubyValues& values,
                                                                      const RubyFrame& frame) const;
  std::optional<std::string> ReadLabel(RubyValues& values, std::span<const uint8_t> body) const;
  RubyLines ReadLines(ProcessMemory& memory, std::span<const uint8_t> body) const;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_RUBY_RUBY_CODE_H_
