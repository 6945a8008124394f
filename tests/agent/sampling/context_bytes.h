// A process context's bytes, made by hand.
#ifndef STACKRAY_TESTS_AGENT_SAMPLING_CONTEXT_BYTES_H_
#define STACKRAY_TESTS_AGENT_SAMPLING_CONTEXT_BYTES_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/wire/writer.h"

namespace stackray::test {

inline std::vector<uint8_t> ContextHeaderBytes(uint64_t published_at_ns, uint64_t payload,
                                               uint32_t payload_bytes, uint32_t version = 2) {
  std::vector<uint8_t> bytes(32);
  std::memcpy(bytes.data(), "OTEL_CTX", 8);
  std::memcpy(bytes.data() + 8, &version, 4);
  std::memcpy(bytes.data() + 12, &payload_bytes, 4);
  std::memcpy(bytes.data() + 16, &published_at_ns, 8);
  std::memcpy(bytes.data() + 24, &payload, 8);
  return bytes;
}

inline std::string Field(uint32_t number, std::string_view bytes) {
  std::string field;
  wire::AppendBytes(static_cast<int>(number), bytes, &field);
  return field;
}
inline std::string TextValue(std::string_view text) { return Field(1, text); }
inline std::string NumberValue(uint32_t field, uint64_t number) {
  std::string bytes;
  wire::AppendVarint(uint64_t{field} << 3, &bytes);
  wire::AppendVarint(number, &bytes);
  return bytes;
}
inline std::string DecimalValue(double number) {
  std::string bytes(9, '\x21');  // Field 4, 64 bits.
  std::memcpy(bytes.data() + 1, &number, 8);
  return bytes;
}
inline std::string KeyValue(std::string_view key, std::string_view value) {
  return Field(1, key) + Field(2, value);
}
// An attribute of a Resource.
inline std::string Attribute(std::string_view key, std::string_view text) {
  return Field(1, KeyValue(key, TextValue(text)));
}
inline std::string Context(std::string_view resource) { return Field(1, resource); }

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_AGENT_SAMPLING_CONTEXT_BYTES_H_
