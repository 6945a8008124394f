#include "symbolizer/cfi/last_call.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace stackray::cfi {
namespace {

constexpr uint8_t kCall = 0xe8, kGroup5 = 0xff, kJumpByPointer = 0x25, kCallByPointer = 0x15;
constexpr uint8_t kBranchPrefix = 0xf2;  // bnd, of the time when MPX was thought of.
constexpr std::array<uint8_t, 4> kEndbr64 = {0xf3, 0x0f, 0x1e, 0xfa};

template <typename T>
T Load(std::span<const uint8_t> bytes) {
  T value = 0;
  if (bytes.size() >= sizeof(value)) std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

// A call by a register or memory, in each of its lengths: ff /2.
bool EndsWithIndirectCall(std::span<const uint8_t, kLastCallBytes> before) {
  return std::ranges::any_of(std::array<size_t, 5>{2, 3, 4, 6, 7}, [&](size_t bytes) {
    const size_t at = kLastCallBytes - bytes;
    return before[at] == kGroup5 && (before[at + 1] & 0x38) == 0x10;
  });
}

bool IsArm64Call(uint32_t word) {
  return (word & 0xfc000000) == 0x94000000 ||  // bl
         (word & 0xfffffc1f) == 0xd63f0000 ||  // blr
         (word & 0xfefff800) == 0xd63f0800;    // blraa and its kin
}

uint64_t Behind(uint64_t address, std::span<const uint8_t> distance) {
  return address + static_cast<uint64_t>(int64_t{Load<int32_t>(distance)});
}

}  // namespace

LastCall LastCallBefore(std::span<const uint8_t, kLastCallBytes> before, uint64_t address,
                        const Machine& machine) {
  if (machine.is_arm64()) {
    const bool is_call = IsArm64Call(Load<uint32_t>(before.last(4)));
    return {is_call ? LastCall::Kind::kUnknown : LastCall::Kind::kNone, 0};
  }
  if (before[3] == kCall) return {LastCall::Kind::kDirect, Behind(address, before.last(4))};
  if (before[2] == kGroup5 && before[3] == kCallByPointer)
    return {LastCall::Kind::kPointer, Behind(address, before.last(4))};
  return {EndsWithIndirectCall(before) ? LastCall::Kind::kUnknown : LastCall::Kind::kNone, 0};
}

std::optional<uint64_t> PointerOfStub(std::span<const uint8_t> code, uint64_t address) {
  size_t at = 0;
  if (code.size() >= kEndbr64.size() && std::ranges::equal(code.first(kEndbr64.size()), kEndbr64))
    at = kEndbr64.size();
  if (at < code.size() && code[at] == kBranchPrefix) ++at;
  if (code.size() < at + 6 || code[at] != kGroup5 || code[at + 1] != kJumpByPointer)
    return std::nullopt;
  return Behind(address + at + 6, code.subspan(at + 2, 4));
}

}  // namespace stackray::cfi
