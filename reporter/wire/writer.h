// Protobuf's wire format by hand, the writing half: the length of a field before it exists, and its
// bytes. Numbers of 0 and empty packed lists are left out, as proto3 wants; messages and strings
// are written even when empty where the caller says so. Layout: the encoding page of the protobuf
// documentation.
#ifndef STACKRAY_REPORTER_WIRE_WRITER_H_
#define STACKRAY_REPORTER_WIRE_WRITER_H_

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "reporter/wire/wire_type.h"

namespace stackray::wire {

// Field numbers up to 15 take one byte of tag; OTLP profiles and pprof use no others.
inline constexpr size_t kTagBytes = 1;
inline constexpr size_t kFixed64Bytes = 8;

using Type = WireType;

constexpr size_t VarintBytes(uint64_t value) {
  return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}
// Of a field of `length` bytes: tag, length, content.
constexpr size_t BytesFieldBytes(size_t length) { return kTagBytes + VarintBytes(length) + length; }
constexpr size_t NumberFieldBytes(uint64_t value) {
  return value == 0 ? 0 : kTagBytes + VarintBytes(value);
}
inline size_t PackedFieldBytes(std::span<const int32_t> values) {
  if (values.empty()) return 0;
  size_t length = 0;
  for (const int32_t value : values) length += VarintBytes(static_cast<uint64_t>(value));
  return BytesFieldBytes(length);
}

inline void AppendVarint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) *out += static_cast<char>(value | 0x80);
  *out += static_cast<char>(value);
}
// In exactly `width` bytes, `value` < 2^(7 * width): for a number whose length must be known before
// the number is. Longer than needed, which every reader of protobuf takes.
inline void AppendPaddedVarint(uint64_t value, size_t width, std::string* out) {
  for (size_t i = 1; i < width; ++i, value >>= 7) *out += static_cast<char>(value | 0x80);
  *out += static_cast<char>(value);
}
inline void AppendTag(int field, Type type, std::string* out) {
  *out += static_cast<char>(field << 3 | static_cast<int>(type));
}
// Tag and length of a message or string whose `length` bytes the caller appends next.
inline void AppendHeader(int field, size_t length, std::string* out) {
  AppendTag(field, Type::kBytes, out);
  AppendVarint(length, out);
}
inline void AppendBytes(int field, std::string_view bytes, std::string* out) {
  AppendHeader(field, bytes.size(), out);
  *out += bytes;
}
inline void AppendNumber(int field, uint64_t value, std::string* out) {
  if (value == 0) return;
  AppendTag(field, Type::kVarint, out);
  AppendVarint(value, out);
}
// Little endian.
inline void AppendFixed64(uint64_t value, std::string* out) {
  for (int shift = 0; shift < 64; shift += 8) *out += static_cast<char>(value >> shift);
}
inline void AppendPacked(int field, std::span<const int32_t> values, std::string* out) {
  if (values.empty()) return;
  size_t length = 0;
  for (const int32_t value : values) length += VarintBytes(static_cast<uint64_t>(value));
  AppendHeader(field, length, out);
  for (const int32_t value : values) AppendVarint(static_cast<uint64_t>(value), out);
}

}  // namespace stackray::wire

#endif  // STACKRAY_REPORTER_WIRE_WRITER_H_
