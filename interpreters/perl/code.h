// What a frame of Perl runs: what names all frames of a sub, or of another kind of code, in one
// file.
//
// Names: `Package::sub`, `Package::__ANON__`, and as Carp says them `eval {...}` and `eval '...'`;
// `require FILE`, `do FILE`, `sort {...}`, `(?{...})` of a regular expression, `defer {...}`;
// `{main}` for the program outside of all subs.
#ifndef STACKRAY_INTERPRETERS_PERL_CODE_H_
#define STACKRAY_INTERPRETERS_PERL_CODE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "interpreters/perl/perl_layouts.h"
#include "interpreters/runtime.h"

namespace stackray {

inline constexpr uint64_t kMaxPerlNameBytes = 4096;  // What is longer is no name, or cut (files).

class PerlCode : public RuntimeCode {
 public:
  PerlCode(std::string name, std::string file) : name_(std::move(name)), file_(std::move(file)) {}

  // `instruction` is the line.
  SourceLine LineAt(int32_t instruction) const override;
  size_t bytes() const override { return sizeof(*this) + name_.size() + file_.size(); }

 private:
  const std::string name_, file_;
};

// Reads what the words of a frame name (bpf/shared/perl.h).
struct PerlCodeReader {
  PerlFields fields;
  bool has_threads = false;

  // `code`, `check`: what PerlData::PlaceOf() made of the words.
  // Errors: as RuntimeData::ReadCode.
  absl::StatusOr<std::shared_ptr<const RuntimeCode>> Read(ProcessMemory& memory, uint64_t code,
                                                          uint32_t check) const;

 private:
  std::optional<std::string> ReadOwner(ProcessMemory& memory, uint64_t owner) const;
  std::optional<std::string> ReadPackage(ProcessMemory& memory, uint64_t stash) const;
  std::optional<std::string> ReadFile(ProcessMemory& memory, uint64_t address,
                                      uint32_t check) const;
};

// The text of a shared key (HEK), as UTF-8. nullopt: it cannot be read, or is none.
std::optional<std::string> ReadPerlKey(ProcessMemory& memory, uint64_t address);

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_PERL_CODE_H_
