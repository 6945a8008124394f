// The bytes of a page index: whole numbers as base-128 varints, lowest part first.
// Input:   any bytes; what lies outside reads as 0, and the reader says so.
// Threads: a reader and a writer have one owner each.
#ifndef STACKRAY_REPORTER_PAGE_INDEX_BYTES_H_
#define STACKRAY_REPORTER_PAGE_INDEX_BYTES_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace stackray {

class IndexReader {
 public:
  explicit IndexReader(std::string_view bytes)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {}
  IndexReader(const char* at, const char* end) : at_(at), end_(end) {}

  uint64_t Number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64 && at_ < end_; shift += 7) {
      const auto byte = static_cast<uint8_t>(*at_++);
      value |= uint64_t{byte & 0x7fu} << shift;
      if (byte < 0x80) return value;
    }
    return Fail();
  }
  int64_t Count() { return static_cast<int64_t>(Number() & INT64_MAX); }
  // A number below `limit`.
  uint32_t Index(size_t limit) {
    const uint64_t value = Number();
    return static_cast<uint32_t>(value < limit ? value : Fail());
  }
  // How many things follow, each of which takes at least `least` bytes.
  size_t Length(size_t least = 1) {
    const uint64_t value = Number();
    return value <= static_cast<uint64_t>(end_ - at_) / least ? value : Fail();
  }
  std::string_view Bytes() {
    const size_t length = Length();
    const std::string_view bytes(at_, length);
    at_ += length;
    return bytes;
  }
  uint64_t Fail() {
    at_ = end_;
    bad_ = true;
    return 0;
  }
  const char* at() const { return at_; }
  const char* end() const { return end_; }
  bool done() const { return at_ == end_; }
  bool bad() const { return bad_; }

 private:
  const char* at_;
  const char* end_;
  bool bad_ = false;
};

// A whole number in four bytes, lowest first.
inline uint32_t ReadWord(std::string_view bytes, size_t at) {
  if (at + 4 > bytes.size()) return 0;
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) value |= uint32_t{static_cast<uint8_t>(bytes[at + i])} << (8 * i);
  return value;
}
inline void AppendWord(uint32_t value, std::string* out) {
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(value >> shift));
}

inline void AppendNumber(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

inline void AppendBytes(std::string_view bytes, std::string* out) {
  AppendNumber(bytes.size(), out);
  out->append(bytes);
}

// AppendNumber() for text that is made from its end on and turned around when it is whole.
inline void AppendNumberBackwards(uint64_t value, std::string* out) {
  char bytes[10];
  int length = 0;
  for (; value >= 0x80; value >>= 7) bytes[length++] = static_cast<char>(value | 0x80);
  bytes[length++] = static_cast<char>(value);
  while (length > 0) out->push_back(bytes[--length]);
}

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_INDEX_BYTES_H_
