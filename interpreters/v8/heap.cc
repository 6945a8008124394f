#include "interpreters/v8/heap.h"

#include <fmt/format.h>

namespace stackray::v8 {
namespace {

// Arrays of words and of bytes: a length, then what they hold.
constexpr uint16_t kArrayLength = 8, kArrayData = 16, kWordBytes = 8;
constexpr uint64_t kLeastAddress = 1 << 16, kMostAddress = uint64_t{1} << 47;

}  // namespace

absl::Status Heap::Failure(std::string_view what) const {
  if (direct_.IsGone()) return absl::NotFoundError("the process is gone");
  return absl::DataLossError(fmt::format("{} any more", what));
}

uint64_t Heap::Forwarded(uint64_t object) {
  if (!IsObject(object)) return object;
  const auto first = Number<uint64_t>(object, 0);
  const bool is_address = first % 8 == 0 && first >= kLeastAddress && first < kMostAddress;
  return is_address && !IsSmi(first) ? Tagged(first) : object;
}

std::optional<int32_t> Heap::Smi(uint64_t object, uint64_t offset) {
  const uint64_t word = Word(object, offset);
  return IsSmi(word) ? std::optional(SmiValue(word)) : std::nullopt;
}

uint16_t Heap::TypeOf(uint64_t object) {
  const uint64_t map = Word(object, 0);
  return IsObject(map) ? Number<uint16_t>(map, layout_.map_instance_type) : kNoType;
}

std::optional<uint32_t> Heap::ArrayLength(uint64_t array) {
  const uint64_t word = Word(array, kArrayLength);
  if (!IsObject(array)) return std::nullopt;
  if (!IsSmi(word))
    return layout_.has_plain_lengths ? std::optional(static_cast<uint32_t>(word)) : std::nullopt;
  return SmiValue(word) < 0 ? std::nullopt : std::optional<uint32_t>(SmiValue(word));
}

uint64_t Heap::Element(uint64_t array, uint32_t index) {
  const std::optional<uint32_t> length = ArrayLength(array);
  if (!length || index >= *length) return 0;
  return Word(array, kArrayData + uint64_t{index} * kWordBytes);
}

std::optional<std::vector<uint8_t>> Heap::Bytes(uint64_t array, uint32_t most) {
  const std::optional<uint32_t> length = ArrayLength(array);
  if (!length || *length > most) return std::nullopt;
  std::vector<uint8_t> bytes(*length);
  if (!bytes.empty() && !direct_.Read(array - 1 + kArrayData, bytes)) return std::nullopt;
  return bytes;
}

}  // namespace stackray::v8
