#include "tests/recorder/php_chain.h"

#include <fmt/format.h>

#include <memory>

#include "bpf/scratch.h"
#include "kernel/raw_sample.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

namespace stackray {
namespace {

// What bpf/php.h asks of its includer.
int env_read(scratch* s, void* to, u32 bytes, u64 from) {
  auto& memory = *reinterpret_cast<ProcessMemory*>(s->host);
  return memory.Read(from, {static_cast<uint8_t*>(to), bytes}) ? END_NONE : END_READ_FAULT;
}
int env_is_new_code(scratch*, u64, u32) { return 0; }
void env_send_code(scratch*) {}

#include "bpf/php.h"

constexpr int kMostSteps = 4 * STAGED_WORDS;

}  // namespace

PhpChain WalkPhpChain(ProcessMemory& memory, const php_layout& layout, uint64_t base,
                      uint64_t thread_pointer) {
  const auto s = std::make_unique<scratch>();
  runtime_walk& run = s->run;
  s->host = reinterpret_cast<u64>(&memory);
  run.layout.php = layout;
  run.base = base;
  run.thread_pointer = thread_pointer;
  PhpChain chain;
  if (!begin_php(s.get())) return chain;
  for (int i = 0; i < kMostSteps && (run.is_staging || run.frame || run.word_count); ++i) {
    if (run.is_staging) {
      if (stage_php_frame(s.get()) != END_NONE) break;
      continue;
    }
    chain.words.insert(chain.words.end(), run.words, run.words + run.word_count);
    if (run.word_count != 0)
      chain.words.push_back(u64{FRAME_RUN_END} << FRAME_KIND_SHIFT | run.entry);
    run.word_count = 0;
    run.is_staging = run.frame != 0;
  }
  chain.is_cut = run.is_cut != 0;
  return chain;
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

std::string DescribePhp(const PhpData& data, const PhpChain& chain, ProcessMemory& memory) {
  std::string text;
  for (size_t i = 0; i < chain.words.size(); i += FrameWordCount(chain.words[i])) {
    if (FrameWordKind(chain.words[i]) != FRAME_RUNTIME || i + 1 >= chain.words.size()) {
      text += FrameWordOffset(chain.words[i]) == RUN_OF_OTHER_STACK ? "-- other stack\n" : "--\n";
      continue;
    }
    const RuntimePlace place = data.PlaceOf(chain.words[i], chain.words[i + 1]);
    const auto code = data.ReadCode(memory, 0, place);
    const SourceLine line = code.ok() ? (*code)->LineAt(place.instruction) : SourceLine{};
    text +=
        code.ok() ? fmt::format("{} {}:{}\n", line.function, line.file, line.line) : "[stale]\n";
  }
  if (chain.is_cut) text += "cut\n";
  return text;
}

}  // namespace stackray
