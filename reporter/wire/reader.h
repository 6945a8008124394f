// Protobuf's wire format by hand, the reading half: every field of a message, every number of a
// field.
// Input:   any bytes; nothing is read outside them. Layout: the encoding page of the protobuf
// documentation. Threads: pure functions; a WireReader has one owner.
#ifndef STACKRAY_REPORTER_WIRE_READER_H_
#define STACKRAY_REPORTER_WIRE_READER_H_

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string_view>

#include "reporter/wire/wire_type.h"

namespace stackray {

struct WireField {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t value = 0;      // Unless kBytes.
  std::string_view bytes;  // kBytes: within the reader's input.
};

// Reads one message's fields in order. Input: any bytes; nothing is read outside them.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  bool done() const { return rest_.empty(); }
  // False at damaged input: the fields before it were good.
  bool Next(WireField* field) {
    uint64_t tag = 0;
    if (!Varint(&tag) || tag >> 3 == 0 || tag >> 32 != 0) return false;
    field->number = static_cast<uint32_t>(tag >> 3);
    field->type = static_cast<WireType>(tag & 7);
    switch (field->type) {
      case WireType::kVarint: return Varint(&field->value);
      case WireType::kFixed64: return Fixed<uint64_t>(&field->value);
      case WireType::kFixed32: return Fixed<uint32_t>(&field->value);
      case WireType::kBytes: return Bytes(&field->bytes);
    }
    return false;  // Groups (3 and 4) are no part of proto3.
  }
  bool Varint(uint64_t* value) {
    *value = 0;
    for (int shift = 0; shift < 70 && !rest_.empty(); shift += 7) {
      const auto byte = static_cast<uint8_t>(rest_[0]);
      rest_.remove_prefix(1);
      *value |= shift < 64 ? uint64_t{byte & 0x7Fu} << shift : 0;
      if (byte < 0x80) return true;
    }
    return false;
  }
  // Little endian.
  template <typename T>
  bool Fixed(uint64_t* value) {
    if (rest_.size() < sizeof(T)) return false;
    *value = 0;
    for (size_t i = 0; i < sizeof(T); ++i)
      *value |= uint64_t{static_cast<uint8_t>(rest_[i])} << 8 * i;
    rest_.remove_prefix(sizeof(T));
    return true;
  }

 private:
  bool Bytes(std::string_view* bytes) {
    uint64_t length = 0;
    if (!Varint(&length) || length > rest_.size()) return false;
    *bytes = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return true;
  }
  std::string_view rest_;
};

// f(field) for each field of a message until it says false. False: it did, or the bytes are
// damaged.
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

#endif  // STACKRAY_REPORTER_WIRE_READER_H_
