// What readers of protobuf messages by hand share: every field of a message, every number of a field.
// Input: any bytes (wire.h). Threads: pure functions.
#ifndef STACKRAY_REPORTER_FORMATS_WIRE_FIELDS_H_
#define STACKRAY_REPORTER_FORMATS_WIRE_FIELDS_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "reporter/formats/wire.h"

namespace stackray {

// f(field) for each field of a message until it says false. False: it did, or the bytes are damaged.
template <typename F>
bool EachField(std::string_view message, F&& f) {
  WireReader reader(message);
  WireField field;
  while (!reader.done()) {
    if (!reader.Next(&field) || !f(field)) return false;
  }
  return true;
}

// f(number) for each number of a repeated varint field, packed or not.
template <typename F>
bool EachNumber(const WireField& field, F&& f) {
  if (field.type == WireType::kVarint) return f(field.value);
  if (field.type != WireType::kBytes) return true;
  WireReader reader(field.bytes);
  while (!reader.done()) {
    uint64_t number = 0;
    if (!reader.Varint(&number) || !f(number)) return false;
  }
  return true;
}

template <typename F>
bool EachFixed64(const WireField& field, F&& f) {
  if (field.type == WireType::kFixed64) return f(field.value);
  if (field.type != WireType::kBytes) return true;
  WireReader reader(field.bytes);
  while (!reader.done()) {
    uint64_t number = 0;
    if (!reader.Fixed<uint64_t>(&number) || !f(number)) return false;
  }
  return true;
}

inline bool IsNumber(const WireField& field, uint32_t number) {
  return field.number == number && field.type == WireType::kVarint;
}
inline bool IsBytes(const WireField& field, uint32_t number) {
  return field.number == number && field.type == WireType::kBytes;
}

inline int64_t ClampToSigned(uint64_t value) {
  return static_cast<int64_t>(std::min<uint64_t>(value, std::numeric_limits<int64_t>::max()));
}

inline int64_t AddSigned(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? std::numeric_limits<int64_t>::min() : std::numeric_limits<int64_t>::max();
}

// An index as the tables count them: int32 on the wire; a negative one is beyond every table.
inline uint64_t AsIndex(uint64_t number) {
  const auto index = static_cast<int32_t>(number);
  return index < 0 ? std::numeric_limits<uint64_t>::max() : static_cast<uint64_t>(index);
}

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_WIRE_FIELDS_H_
