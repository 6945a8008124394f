#include "tests/recorder/perl_chain.h"

#include <fmt/format.h>

#include <memory>

#include "bpf/scratch.h"
#include "kernel/raw_sample.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

namespace stackray {
namespace {

// What bpf/perl.h asks of its includer.
int env_read(scratch* s, void* to, u32 bytes, u64 from) {
  auto& memory = *reinterpret_cast<ProcessMemory*>(s->host);
  return memory.Read(from, {static_cast<uint8_t*>(to), bytes}) ? END_NONE : END_READ_FAULT;
}
// All is new, so that what is sent along is read as well.
int env_is_new_code(scratch*, u64, u32) { return 1; }
void env_send_code(scratch*) {}

#include "bpf/perl.h"

constexpr int kMostSteps = 8 * STAGED_WORDS;

}  // namespace

PerlChain WalkPerlChain(ProcessMemory& memory, const perl_layout& layout, uint64_t base,
                        uint64_t thread_pointer) {
  const auto s = std::make_unique<scratch>();
  runtime_walk& run = s->run;
  s->host = reinterpret_cast<u64>(&memory);
  run.layout.perl = layout;
  run.base = base;
  run.thread_pointer = thread_pointer;
  PerlChain chain;
  if (!begin_perl(s.get())) return chain;
  for (int i = 0; i < kMostSteps && (run.is_staging || run.frame || run.word_count); ++i) {
    if (run.is_staging) {
      if (stage_perl_frame(s.get()) != END_NONE) break;
      continue;
    }
    chain.words.insert(chain.words.end(), run.words, run.words + run.word_count);
    if (run.word_count != 0)
      chain.words.push_back(u64{FRAME_RUN_END} << FRAME_KIND_SHIFT |
                            (run.entry == NO_ENTRY ? 0 : run.entry));
    run.word_count = 0;
    run.entry = NO_ENTRY;
    run.is_staging = run.frame != 0;
  }
  chain.is_cut = run.is_cut != 0;
  return chain;
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

std::string DescribePerl(const PerlData& data, const PerlChain& chain, ProcessMemory& memory) {
  std::string text;
  for (size_t i = 0; i < chain.words.size(); i += FrameWordCount(chain.words[i])) {
    if (FrameWordKind(chain.words[i]) != FRAME_RUNTIME || i + 1 >= chain.words.size()) {
      const uint64_t place = FrameWordOffset(chain.words[i]);
      text += place == RUN_OF_MAIN_LOOP   ? "-- main\n"
              : place == RUN_OF_CALLBACK  ? "-- callback\n"
              : place == RUN_OF_NEXT_LOOP ? "-- next\n"
                                          : "--\n";
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
