#include "interpreters/hotspot/unsigned5.h"

namespace stackray::hotspot {

std::optional<uint32_t> Unsigned5::Next() {
  constexpr uint32_t kLowCodes = 192, kShift = 6;
  constexpr int kMostBytes = 5;
  uint32_t sum = 0;
  for (int i = 0; i < kMostBytes; ++i) {
    if (at_ >= bytes_.size()) return std::nullopt;
    const uint32_t byte = bytes_[at_++];
    if (byte < excluded_) return std::nullopt;
    sum += (byte - excluded_) << (kShift * static_cast<uint32_t>(i));
    if (byte < kLowCodes || i == kMostBytes - 1) return sum;
  }
  return std::nullopt;
}

std::optional<int32_t> Unsigned5::NextSigned() {
  const std::optional<uint32_t> value = Next();
  if (!value) return std::nullopt;
  return static_cast<int32_t>((*value >> 1) ^ (0 - (*value & 1)));
}

}  // namespace stackray::hotspot
