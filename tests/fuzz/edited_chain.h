// What the targets of the runtimes' chains share: recorded chains with changes, and the bounds of
// what a walk gives.
#ifndef STACKRAY_TESTS_FUZZ_EDITED_CHAIN_H_
#define STACKRAY_TESTS_FUZZ_EDITED_CHAIN_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/fuzz/edited_recording.h"
#include "tests/recorder/recorded_memory.h"

namespace stackray {

// Of so many words of a chain the names are read.
inline constexpr size_t kNamedOfRecorded = 256, kNamedOfAnything = 64;

// A chain of at most `most_words`, without those behind the first `named`.
template <typename Chain>
Chain FirstOf(Chain chain, size_t most_words, size_t named) {
  if (chain.words.size() > most_words) std::abort();
  chain.words.resize(std::min(chain.words.size(), named));
  return chain;
}

// A runtime's recorded chain, and its words changed.
template <typename Recorded, typename Data>
struct EditedChain {
  EditedChain(Recorded from, std::shared_ptr<const Data> of)
      : recorded(std::move(from)), data(std::move(of)), words(&recorded.words) {
    if (data == nullptr) std::abort();
  }
  Recorded recorded;
  std::shared_ptr<const Data> data;
  EditedWords words;
};

// Calls `walk` with the memory of the recording that `input` (without its first byte) asks for,
// changed as it says.
template <typename Recorded, typename Data, typename Walk>
void WithEdits(const std::vector<std::unique_ptr<EditedChain<Recorded, Data>>>& chains,
               std::span<const uint8_t> input, Walk walk) {
  EditReader reader(input);
  EditedChain<Recorded, Data>& chain = *chains[reader.Take<uint8_t>() % chains.size()];
  ForEachEdit(reader,
              [&](uint8_t operation, EditReader& rest) { chain.words.Edit(operation, rest); });
  RecordedMemory memory(chain.recorded.words);
  walk(memory, chain.recorded, *chain.data);
  chain.words.Restore();
}

// All recordings of a runtime, each with what `data_of` makes of it.
template <typename Recorded, typename Data, typename Parse, typename DataOf>
std::vector<std::unique_ptr<EditedChain<Recorded, Data>>> ReadChains(const std::string& kind,
                                                                     Parse parse, DataOf data_of) {
  std::vector<std::unique_ptr<EditedChain<Recorded, Data>>> chains;
  for (Recorded& recorded : ReadRecordings<Recorded>(kind, "chain.txt", parse)) {
    std::shared_ptr<const Data> data = data_of(recorded);
    chains.push_back(
        std::make_unique<EditedChain<Recorded, Data>>(std::move(recorded), std::move(data)));
  }
  return chains;
}

}  // namespace stackray

#endif  // STACKRAY_TESTS_FUZZ_EDITED_CHAIN_H_
