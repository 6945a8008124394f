#include "tests/recorder/php_chain.h"

#include <fmt/format.h>

#include "tests/recorder/chain_walk.h"

namespace stackray {
namespace {

#include "bpf/php.h"

}  // namespace

RuntimeChain WalkPhpChain(ProcessMemory& memory, const php_layout& layout, uint64_t base,
                          uint64_t thread_pointer) {
  ChainWalk walk(memory);
  walk.run().layout.php = layout;
  walk.run().base = base;
  walk.run().thread_pointer = thread_pointer;
  if (!begin_php(walk.s())) return {};
  return walk.Finish(stage_php_frame);
}

std::string FormatPhp(const RecordedPhp& recorded) {
  const PhpVariables& variables = recorded.variables;
  std::string text =
      fmt::format("version {:x} {:x}\nvariables {:x} {:x}\nbase {:x} {:x}\n",
                  recorded.version.major, recorded.version.minor, variables.globals_at,
                  variables.generator_class_at, recorded.base, recorded.thread_pointer);
  if (variables.globals != PHP_GLOBALS_ONE)
    text +=
        fmt::format("threads {:x} {:x}\nblock {:x} {:x}\n", variables.globals, variables.tls_kind,
                    variables.tls_at, static_cast<uint64_t>(variables.tls_offset));
  return text + FormatWords(recorded.words);
}

absl::StatusOr<RecordedPhp> ParsePhp(const std::string& text) {
  RecordedPhp recorded;
  PhpVariables& variables = recorded.variables;
  const absl::Status status = ParsePairs(
      text, &recorded.words, [&](std::string_view what, uint64_t first, uint64_t second) {
        if (what == "version") {
          recorded.version = {.major = static_cast<uint32_t>(first),
                              .minor = static_cast<uint32_t>(second)};
        } else if (what == "variables") {
          variables.globals_at = first;
          variables.generator_class_at = second;
        } else if (what == "base") {
          recorded.base = first;
          recorded.thread_pointer = second;
        } else if (what == "threads") {
          variables.globals = static_cast<uint32_t>(first);
          variables.tls_kind = static_cast<uint32_t>(second);
        } else if (what == "block") {
          variables.tls_at = first;
          variables.tls_offset = static_cast<int64_t>(second);
        } else {
          return false;
        }
        return true;
      });
  if (!status.ok()) return status;
  return recorded;
}

}  // namespace stackray
