// Jitdump files, byte by byte, for tests.
#ifndef STACKRAY_TESTS_INTERPRETERS_JIT_DUMP_BYTES_H_
#define STACKRAY_TESTS_INTERPRETERS_JIT_DUMP_BYTES_H_

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace stackray::test {

class DumpBytes {
 public:
  explicit DumpBytes(uint32_t magic = 0x4A695444, uint32_t machine = EM_X86_64) {
    Add(magic).Add(uint32_t{1}).Add(uint32_t{40}).Add(machine).Add(uint32_t{0}).Add(uint32_t{77});
    Add(uint64_t{5}).Add(uint64_t{0});
  }
  DumpBytes& Load(uint64_t address, std::string_view name, std::string_view code) {
    Begin(0).Add(uint32_t{77}).Add(uint32_t{78}).Add(address).Add(address);
    Add(uint64_t{code.size()}).Add(++index_).Text(name);
    bytes_.insert(bytes_.end(), code.begin(), code.end());
    return End();
  }
  DumpBytes& Move(uint64_t from, uint64_t to, uint64_t size) {
    Begin(1).Add(uint32_t{77}).Add(uint32_t{78}).Add(to).Add(from).Add(to).Add(size);
    return Add(uint64_t{1}).End();
  }
  struct Line {
    uint64_t address;
    int32_t line;
    std::string_view file;  // "\xff": as the one before.
  };
  DumpBytes& Lines(uint64_t address, const std::vector<Line>& lines) {
    Begin(2).Add(address).Add(uint64_t{lines.size()});
    for (const Line& line : lines) Add(line.address).Add(line.line).Add(int32_t{0}).Text(line.file);
    return End();
  }
  // What unwinds the function that comes next: `entries` and an .eh_frame_hdr of 20 bytes.
  DumpBytes& Unwinding(std::span<const uint8_t> entries) {
    Begin(4).Add(uint64_t{entries.size() + 20}).Add(uint64_t{20}).Add(uint64_t{0});
    bytes_.insert(bytes_.end(), entries.begin(), entries.end());
    bytes_.insert(bytes_.end(), 20, 0);
    return End();
  }
  // A record of another kind.
  DumpBytes& Other(uint32_t kind, std::string_view body) {
    Begin(kind);
    bytes_.insert(bytes_.end(), body.begin(), body.end());
    return End();
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }

 private:
  template <typename T>
  DumpBytes& Add(T value) {
    const auto* const begin = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), begin, begin + sizeof(value));
    return *this;
  }
  DumpBytes& Text(std::string_view text) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    bytes_.push_back(0);
    return *this;
  }
  DumpBytes& Begin(uint32_t kind) {
    begun_ = bytes_.size();
    return Add(kind).Add(uint32_t{0}).Add(uint64_t{9});
  }
  DumpBytes& End() {
    const auto size = static_cast<uint32_t>(bytes_.size() - begun_);
    std::memcpy(bytes_.data() + begun_ + 4, &size, sizeof(size));
    return *this;
  }

  std::vector<uint8_t> bytes_;
  size_t begun_ = 0;
  uint64_t index_ = 0;
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_INTERPRETERS_JIT_DUMP_BYTES_H_
