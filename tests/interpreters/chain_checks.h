// What the recorded chains of every runtime have to stand: each word missing, and damage.
#ifndef STACKRAY_TESTS_INTERPRETERS_CHAIN_CHECKS_H_
#define STACKRAY_TESTS_INTERPRETERS_CHAIN_CHECKS_H_

#include <functional>
#include <string>

#include "bpf/shared/records.h"
#include "interpreters/captured_memory.h"
#include "interpreters/runtime.h"
#include "tests/recorder/recorded_folder.h"  // ReadText(), RecordingsIn()
#include "tests/recorder/recorded_memory.h"
#include "tests/recorder/runtime_chain.h"

namespace stackray::test {

// A chain's frames as text, walked and named over these words.
using FramesOf = std::function<std::string(const MemoryWords& words)>;

// The pieces' bytes as BPF would read them. A recording has only whole words that somebody asked
// for.
CapturedMemory Capture(const code_record& record, ProcessMemory& memory);

// These words, and filler in all others of their pages: as in a live process, where more can be
// read than was asked for.
MemoryWords WithWholePages(const MemoryWords& words);

// What BPF sends of a code is all that its name and line are read from. The number of frames.
size_t CheckSentNames(const RuntimeData& data, const RuntimeChain& chain, uint64_t base,
                      ProcessMemory& memory);

// Each missing word costs frames and no more. `expected`: the frames of all words.
void CheckMissingWords(const MemoryWords& words, const std::string& expected,
                       const FramesOf& frames);
// Damage ends, and stays in bounds.
void CheckDamage(const MemoryWords& words, const FramesOf& frames);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_INTERPRETERS_CHAIN_CHECKS_H_
