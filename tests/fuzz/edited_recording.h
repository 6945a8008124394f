// A recording of the gallery (tests/fixtures) with changes that a fuzzer's input asks for: what is
// walked is as deep as it was in the recorded process, and what is wrong in it may be anything.
//
// The input behind its first byte, whose lowest bit asks for a recording: which one; then changes,
// each of them an operation (one byte), a place (two bytes, little-endian) and what the operation
// takes.
#ifndef STACKRAY_TESTS_FUZZ_EDITED_RECORDING_H_
#define STACKRAY_TESTS_FUZZ_EDITED_RECORDING_H_

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "tests/recorder/recorded_folder.h"
#include "tests/recorder/recorded_memory.h"

namespace stackray {

inline constexpr size_t kMostEdits = 64;  // An input has this many changes at most.

// The input, from its front to its end; zeros behind it.
class EditReader {
 public:
  explicit EditReader(std::span<const uint8_t> input) : input_(input) {}
  bool AtEnd() const { return input_.empty(); }
  template <typename T>
  T Take() {
    T value = 0;
    const size_t bytes = std::min(sizeof(T), input_.size());
    if (bytes > 0) std::memcpy(&value, input_.data(), bytes);
    input_ = input_.subspan(bytes);
    return value;
  }

 private:
  std::span<const uint8_t> input_;
};

// Calls `edit` with an operation, and what is behind it in the input, for each change that the
// input asks for.
template <typename Edit>
void ForEachEdit(EditReader& input, Edit edit) {
  for (size_t i = 0; i < kMostEdits && !input.AtEnd(); ++i) edit(input.Take<uint8_t>(), input);
}

// Words that can be changed, and be as they were again.
class EditedWords {
 public:
  explicit EditedWords(MemoryWords* words) : words_(words) {
    for (const auto& [address, value] : *words) addresses_.push_back(address);
  }

  static constexpr uint8_t kOperations = 6;
  void Edit(uint8_t operation, EditReader& input) {
    if (addresses_.empty()) return;
    const uint64_t address = AddressAt(input.Take<uint16_t>());
    const auto word = words_->find(address);
    const bool is_there = word != words_->end();
    changed_.emplace_back(address, is_there ? std::optional(word->second) : std::nullopt);
    const uint64_t before = is_there ? word->second : 0;
    switch (operation % kOperations) {
      case 0: (*words_)[address] = input.Take<uint64_t>(); return;
      case 1:  // Leads to what some other word is, or beside it.
        (*words_)[address] = AddressAt(input.Take<uint16_t>()) + uint64_t(input.Take<int8_t>());
        return;
      case 2: {  // Is what some other word is.
        const auto other = words_->find(AddressAt(input.Take<uint16_t>()));
        (*words_)[address] = other != words_->end() ? other->second : 0;
        return;
      }
      case 3: (*words_)[address] = before + uint64_t(input.Take<int8_t>()); return;
      case 4: (*words_)[address] = before ^ uint64_t { 1 } << input.Take<uint8_t>() % 64; return;
      default: words_->erase(address);  // Can't be read.
    }
  }
  void Restore() {
    for (; !changed_.empty(); changed_.pop_back()) {
      const auto& [address, value] = changed_.back();
      if (value)
        (*words_)[address] = *value;
      else
        words_->erase(address);
    }
  }

 private:
  uint64_t AddressAt(uint16_t place) const { return addresses_[place % addresses_.size()]; }

  MemoryWords* const words_;
  std::vector<uint64_t> addresses_;  // Of all the words that were recorded.
  std::vector<std::pair<uint64_t, std::optional<uint64_t>>> changed_;
};

// The recordings called `file` in the folders of tests/fixtures/`kind`, by their names' order. No
// recording is a broken tree: it ends.
template <typename Recorded, typename Parse>
std::vector<Recorded> ReadRecordings(const std::string& kind, const std::string& file,
                                     Parse parse) {
  const std::filesystem::path folder =
      std::filesystem::path(STACKRAY_SOURCE_DIR) / "tests" / "fixtures" / kind;
  std::vector<Recorded> recordings;
  for (const std::string& name : RecordingsIn(folder, file)) {
    absl::StatusOr<Recorded> recorded = parse(ReadText(folder / name / file));
    if (!recorded.ok()) std::abort();
    recordings.push_back(*std::move(recorded));
  }
  if (recordings.empty()) std::abort();
  return recordings;
}

// What a target does with its input, whose first byte says whether the rest asks for a recording or
// is anything at all.
template <typename WalkRecorded, typename WalkAnything>
int WalkEither(const uint8_t* data, size_t size, WalkRecorded recorded, WalkAnything anything) {
  if (size < 2) return 0;
  if ((data[0] & 1) != 0)
    recorded(std::span(data + 1, size - 1));
  else
    anything(std::span(data + 1, size - 1));
  return 0;
}

}  // namespace stackray

#endif  // STACKRAY_TESTS_FUZZ_EDITED_RECORDING_H_
