#include "tests/recorder/lua_chain.h"

#include <fmt/format.h>

#include <memory>

#include "bpf/scratch.h"
#include "kernel/raw_sample.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

namespace stackray {
namespace {

// What bpf/lua.h asks of its includer.
struct Host {
  ProcessMemory& memory;
  std::vector<code_record>& sent;
};
int env_read(scratch* s, void* to, u32 bytes, u64 from) {
  ProcessMemory& memory = reinterpret_cast<Host*>(s->host)->memory;
  return memory.Read(from, {static_cast<uint8_t*>(to), bytes}) ? END_NONE : END_READ_FAULT;
}
// All is new, so that what is sent along is read as well.
int env_is_new_code(scratch*, u64, u32) { return 1; }
void env_send_code(scratch* s) { reinterpret_cast<Host*>(s->host)->sent.push_back(s->code_record); }

#include "bpf/lua.h"

u64 env_running_lua_call(scratch* s, u64 state) { return running_lua_call(s, state); }

constexpr int kMostSteps = 8 * STAGED_WORDS;

}  // namespace

LuaChain WalkLuaChain(ProcessMemory& memory, const lua_layout& layout, uint64_t stack_pointer) {
  const auto s = std::make_unique<scratch>();
  runtime_walk& run = s->run;
  LuaChain chain;
  Host host{.memory = memory, .sent = chain.sent};
  s->host = reinterpret_cast<u64>(&host);
  run.layout.lua = layout;
  begin_lua(s.get(), stack_pointer, 0);
  for (int i = 0; i < kMostSteps && (run.is_staging || run.frame || run.word_count); ++i) {
    if (run.is_staging) {
      if (stage_lua_frame(s.get()) != END_NONE) break;
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

std::string FormatLua(const RecordedLua& recorded) {
  std::string text =
      fmt::format("version {:x} {:x}\nstack {:x} {:x}\n", recorded.version.major,
                  recorded.version.minor, recorded.stack_pointer, recorded.version.release);
  return text + FormatWords(recorded.words);
}

absl::StatusOr<RecordedLua> ParseLua(const std::string& text) {
  RecordedLua recorded;
  const absl::Status status = ParsePairs(
      text, &recorded.words, [&](std::string_view what, uint64_t first, uint64_t second) {
        if (what == "version") {
          recorded.version.major = static_cast<uint32_t>(first);
          recorded.version.minor = static_cast<uint32_t>(second);
        } else if (what == "stack") {
          recorded.stack_pointer = first;
          recorded.version.release = static_cast<uint32_t>(second);
        } else {
          return false;
        }
        return true;
      });
  if (!status.ok()) return status;
  return recorded;
}

std::shared_ptr<const LuaData> DataOf(const RecordedLua& recorded) {
  return LuaData::Make(recorded.version, {{.begin = 0x1000, .end = 0x2000}});
}

std::string DescribeLua(const LuaData& data, const LuaChain& chain, ProcessMemory& memory) {
  std::string text;
  for (size_t i = 0; i < chain.words.size(); i += FrameWordCount(chain.words[i])) {
    if (FrameWordKind(chain.words[i]) != FRAME_RUNTIME || i + 1 >= chain.words.size()) {
      text += FrameWordOffset(chain.words[i]) == RUN_OF_NEXT_LOOP ? "-- next\n" : "--\n";
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
