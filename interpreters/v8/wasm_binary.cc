#include "interpreters/v8/wasm_binary.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace stackray::v8 {
namespace {

constexpr size_t kMostText = 1024;
constexpr uint32_t kMostSections = 4096;
constexpr uint8_t kCustomSection = 0, kModuleName = 0, kFunctionNames = 1;

// Numbers of seven bits a byte and texts, from the front of bytes.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  bool is_at_end() const { return bytes_.empty(); }
  size_t left() const { return bytes_.size(); }

  std::optional<uint8_t> Byte() {
    if (bytes_.empty()) return std::nullopt;
    const uint8_t byte = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return byte;
  }
  std::optional<uint32_t> Number() {
    uint64_t value = 0;
    for (int shift = 0; shift < 35; shift += 7) {
      const std::optional<uint8_t> byte = Byte();
      if (!byte) return std::nullopt;
      value |= uint64_t{*byte & 0x7fU} << shift;
      if ((*byte & 0x80) == 0) return static_cast<uint32_t>(value);
    }
    return std::nullopt;
  }
  std::optional<std::span<const uint8_t>> Bytes(uint64_t count) {
    if (count > bytes_.size()) return std::nullopt;
    const std::span<const uint8_t> taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  std::optional<std::string> Text() {
    const std::optional<uint32_t> length = Number();
    const auto bytes = length ? Bytes(*length) : std::nullopt;
    if (!bytes) return std::nullopt;
    return std::string(bytes->begin(),
                       bytes->begin() + static_cast<ptrdiff_t>(std::min(bytes->size(), kMostText)));
  }

 private:
  std::span<const uint8_t> bytes_;
};

std::string FunctionName(Reader names, uint32_t function) {
  const std::optional<uint32_t> count = names.Number();
  for (uint32_t i = 0; count && i < *count && !names.is_at_end(); ++i) {
    const std::optional<uint32_t> index = names.Number();
    std::optional<std::string> name = names.Text();
    if (!index || !name) break;
    if (*index == function) return *std::move(name);
  }
  return "";
}

}  // namespace

std::optional<ByteRange> FindNameSection(ProcessMemory& memory, uint64_t module, uint64_t bytes) {
  constexpr uint64_t kHeaderBytes = 8, kMostHead = 16;
  constexpr std::string_view kName = "name";
  if (bytes > kMostModuleBytes) return std::nullopt;
  uint64_t at = kHeaderBytes;
  for (uint32_t i = 0; i < kMostSections && at < bytes; ++i) {
    std::array<uint8_t, kMostHead> head{};
    const size_t count = std::min<uint64_t>(kMostHead, bytes - at);
    if (!memory.Read(module + at, std::span(head).first(count))) return std::nullopt;
    const std::span<const uint8_t> there = std::span<const uint8_t>(head).first(count);
    Reader reader(there);
    const std::optional<uint8_t> id = reader.Byte();
    const std::optional<uint32_t> size = reader.Number();
    const uint64_t begin = at + count - reader.left();
    if (!id || !size || *size > bytes - begin) return std::nullopt;
    at = begin + *size;
    if (*id != kCustomSection || reader.Text() != kName) continue;
    const uint64_t content = begin + kName.size() + 1;
    return ByteRange{module + content, at > content ? at - content : 0};
  }
  return std::nullopt;
}

WasmNames NamesOf(std::span<const uint8_t> names, uint32_t function) {
  WasmNames found;
  Reader reader(names);
  while (!reader.is_at_end()) {
    const std::optional<uint8_t> id = reader.Byte();
    const std::optional<uint32_t> size = reader.Number();
    const auto content = size ? reader.Bytes(*size) : std::nullopt;
    if (!content) break;
    if (*id == kModuleName) found.module = Reader(*content).Text().value_or("");
    if (*id == kFunctionNames) found.function = FunctionName(Reader(*content), function);
  }
  return found;
}

}  // namespace stackray::v8
