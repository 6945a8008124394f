#include "tests/recorder/perl_chain.h"

#include <fmt/format.h>

#include "tests/recorder/chain_walk.h"

namespace stackray {
namespace {

#include "bpf/perl.h"

}  // namespace

RuntimeChain WalkPerlChain(ProcessMemory& memory, const perl_layout& layout, uint64_t base,
                           uint64_t thread_pointer) {
  ChainWalk walk(memory);
  walk.run().layout.perl = layout;
  walk.run().base = base;
  walk.run().thread_pointer = thread_pointer;
  if (!begin_perl(walk.s())) return {};
  return walk.Finish(stage_perl_frame);
}

std::string FormatPerl(const RecordedPerl& recorded) {
  const PerlVariables& variables = recorded.variables;
  std::string text =
      fmt::format("version {:x} {:x}\n", recorded.version.major, recorded.version.minor);
  if (variables.has_threads())
    text += fmt::format("key {:x} 0\n", variables.key_at);
  else
    text += fmt::format("stack {:x} {:x}\nop {:x} {:x}\n", variables.stack_info_at,
                        variables.cop_at, variables.op_at, variables.stack_pointer_at);
  text += fmt::format("base {:x} {:x}\n", recorded.base, recorded.thread_pointer);
  return text + FormatWords(recorded.words);
}

absl::StatusOr<RecordedPerl> ParsePerl(const std::string& text) {
  RecordedPerl recorded;
  PerlVariables& variables = recorded.variables;
  const absl::Status status = ParsePairs(
      text, &recorded.words, [&](std::string_view what, uint64_t first, uint64_t second) {
        if (what == "version") {
          recorded.version = {.major = static_cast<uint32_t>(first),
                              .minor = static_cast<uint32_t>(second)};
        } else if (what == "key") {
          variables.key_at = first;
        } else if (what == "stack") {
          variables.stack_info_at = first;
          variables.cop_at = second;
        } else if (what == "op") {
          variables.op_at = first;
          variables.stack_pointer_at = second;
        } else if (what == "base") {
          recorded.base = first;
          recorded.thread_pointer = second;
        } else {
          return false;
        }
        return true;
      });
  if (!status.ok()) return status;
  return recorded;
}

}  // namespace stackray
