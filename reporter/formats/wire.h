// Protobuf's wire format by hand, both ways: enough for pprof's messages and for showing a batch as
// JSON. Layout: the encoding page of the protobuf documentation (varint, 64-bit, length-delimited,
// 32-bit).
#ifndef STACKRAY_REPORTER_FORMATS_WIRE_H_
#define STACKRAY_REPORTER_FORMATS_WIRE_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace stackray {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

class WireWriter {
 public:
  // A field whose value is 0 or empty is left out, as proto3 wants; AddBytes always writes.
  void AddNumber(uint32_t field, uint64_t value) {
    if (value == 0) return;
    AppendTag(field, WireType::kVarint);
    AppendVarint(value);
  }
  void AddBytes(uint32_t field, std::string_view value) {
    AppendTag(field, WireType::kBytes);
    AppendVarint(value.size());
    bytes_ += value;
  }
  void AppendVarint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  const std::string& bytes() const { return bytes_; }
  void Clear() { bytes_.clear(); }

 private:
  void AppendTag(uint32_t field, WireType type) {
    AppendVarint(uint64_t{field} << 3 | static_cast<uint8_t>(type));
  }
  std::string bytes_;
};

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

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_WIRE_H_
