#include "tests/recorder/runtime_chain.h"

#include <fmt/format.h>

#include "bpf/runtime_frames.h"
#include "kernel/raw_sample.h"

namespace stackray {
namespace {

const char* RunEnd(uint64_t place) {
  switch (place) {
    case RUN_OF_MAIN_LOOP: return "-- main\n";
    case RUN_OF_CALLBACK: return "-- callback\n";
    case RUN_OF_NEXT_LOOP: return "-- next\n";
    case RUN_OF_OTHER_STACK: return "-- other stack\n";
    default: return "--\n";
  }
}

}  // namespace

std::string DescribeChain(const RuntimeData& data, const RuntimeChain& chain, uint64_t base,
                          ProcessMemory& memory) {
  std::string text;
  for (size_t i = 0; i < chain.words.size(); i += FrameWordCount(chain.words[i])) {
    if (FrameWordKind(chain.words[i]) != FRAME_RUNTIME || i + 1 >= chain.words.size()) {
      text += RunEnd(FrameWordOffset(chain.words[i]));
      continue;
    }
    const RuntimePlace place = data.PlaceOf(chain.words[i], chain.words[i + 1]);
    const auto code = data.ReadCode(memory, base, place);
    const SourceLine line = code.ok() ? (*code)->LineAt(place.instruction) : SourceLine{};
    text +=
        code.ok() ? fmt::format("{} {}:{}\n", line.function, line.file, line.line) : "[stale]\n";
  }
  if (chain.is_cut) text += "cut\n";
  return text;
}

}  // namespace stackray
