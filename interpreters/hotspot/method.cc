#include "interpreters/hotspot/method.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/status/status.h"
#include "interpreters/hotspot/language_names.h"
#include "interpreters/hotspot/unsigned5.h"
#include "interpreters/paged_memory.h"
#include "interpreters/utf8.h"

namespace stackray::hotspot {
namespace {

constexpr size_t kMostTextBytes = 1024;  // Of a Symbol as UTF-8; longer ones are cut.
constexpr uint64_t kMostConstMethodBytes = 512
                                           << 10;  // 64 KiB of bytecodes and what is beside them.
constexpr size_t kMostLines = 65'536;
constexpr uint64_t kWordBytes = 8;
constexpr uint32_t kHasLines = 1;  // ConstMethodFlags: has_linenumber_table.

absl::Status Failure(const ProcessMemory& memory) {
  return memory.IsGone() ? absl::NotFoundError("the process is gone")
                         : absl::DataLossError("no method any more");
}

std::string FileOf(ProcessMemory& memory, const Layout& layout, uint64_t pool, uint64_t holder) {
  const bool is_in_pool = layout.pool_source_file != kNoField;
  if (!is_in_pool && layout.class_source_file == kNoField) return "";
  const uint64_t at =
      is_in_pool ? pool + layout.pool_source_file : holder + layout.class_source_file;
  return PoolText(memory, layout, pool, ReadNumber<uint16_t>(memory, at)).value_or("");
}

// Behind the bytecodes, if the flags say that there are lines.
std::vector<LineEntry> LinesOf(ProcessMemory& memory, const Layout& layout, uint64_t const_method,
                               uint16_t code_bytes) {
  const auto flags = ReadNumber<uint8_t>(memory, const_method + layout.const_method_flags);
  const auto words = ReadNumber<uint32_t>(memory, const_method + layout.const_method_words);
  const uint64_t begin = uint64_t{layout.bpf.const_method_bytes} + code_bytes;
  const uint64_t end = uint64_t{words} * kWordBytes;
  if ((flags & kHasLines) == 0 || end <= begin || end > kMostConstMethodBytes) return {};
  std::vector<uint8_t> bytes(end - begin);
  if (!memory.Read(const_method + begin, bytes)) return {};
  return ReadLines(bytes, layout.unsigned5_excluded);
}

// What the class file format allows (the JVM's specification, 4.2 and 4.3.3). A Symbol whose memory
// has become another one's text often breaks it.
bool IsMethodName(std::string_view name) {
  return name == "<init>" || name == "<clinit>" ||
         name.find_first_of(".;[/<>") == std::string_view::npos;
}
bool IsSignature(std::string_view text) {
  return text.starts_with('(') && text.find(')') != std::string_view::npos;
}
bool IsClassName(std::string_view name) {
  return name.find_first_of(".;[") == std::string_view::npos && !name.starts_with('/');
}

constexpr bool IsHex(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); }

// One UTF-16 unit from the front of `bytes`, which loses it; nullopt: no modified UTF-8.
std::optional<uint32_t> TakeUnit(std::span<const uint8_t>* bytes) {
  const std::span<const uint8_t> all = *bytes;
  const auto rest = [&](size_t i) { return i < all.size() && (all[i] & 0xc0) == 0x80; };
  if (all[0] < 0x80) {
    *bytes = all.subspan(1);
    return all[0] == 0 ? std::nullopt : std::optional<uint32_t>(all[0]);
  }
  if ((all[0] & 0xe0) == 0xc0 && rest(1)) {
    *bytes = all.subspan(2);
    const uint32_t unit = (all[0] & 0x1fU) << 6 | (all[1] & 0x3fU);
    return unit >= 0x80 || unit == 0 ? std::optional(unit) : std::nullopt;
  }
  if ((all[0] & 0xf0) == 0xe0 && rest(1) && rest(2)) {
    *bytes = all.subspan(3);
    const uint32_t unit = (all[0] & 0xfU) << 12 | (all[1] & 0x3fU) << 6 | (all[2] & 0x3fU);
    return unit >= 0x800 ? std::optional(unit) : std::nullopt;
  }
  return std::nullopt;
}

constexpr bool IsControl(uint32_t unit) { return unit < 0x20 || (unit >= 0x7f && unit < 0xa0); }
constexpr bool IsHighSurrogate(uint32_t unit) { return unit >= 0xd800 && unit < 0xdc00; }
constexpr bool IsLowSurrogate(uint32_t unit) { return unit >= 0xdc00 && unit < 0xe000; }

}  // namespace

std::optional<std::string> ReadSymbol(ProcessMemory& memory, const Layout& layout,
                                      uint64_t address) {
  if (address == 0) return std::nullopt;
  if (layout.symbol_count != kNoField) {
    std::array<uint8_t, sizeof(uint16_t)> count{};
    if (!memory.ReadCount(address + layout.symbol_count, count) ||
        NumberAt<uint16_t>(count, 0) == 0)
      return std::nullopt;
  }
  const uint64_t at = address + layout.symbol_length + (layout.is_symbol_length_high ? 2 : 0);
  const size_t length = ReadNumber<uint16_t>(memory, at);
  if (length == 0) return std::nullopt;
  std::vector<uint8_t> bytes(length);
  if (!memory.Read(address + layout.symbol_body, bytes)) return std::nullopt;
  return TextOfSymbol(bytes);
}

std::optional<std::string> PoolText(ProcessMemory& memory, const Layout& layout, uint64_t pool,
                                    uint16_t index) {
  if (index == 0) return std::nullopt;
  const auto entry =
      ReadNumber<uint64_t>(memory, pool + layout.pool_bytes + kWordBytes * uint64_t{index});
  return ReadSymbol(memory, layout, entry & ~uint64_t{1});  // Bit 0: not resolved.
}

std::optional<std::string> TextOfSymbol(std::span<const uint8_t> bytes) {
  std::string text;
  size_t shown = 0;  // Bytes of `text` that are whole characters and few enough.
  while (!bytes.empty()) {
    const std::optional<uint32_t> unit = TakeUnit(&bytes);
    if (!unit || IsControl(*unit)) return std::nullopt;
    std::span<const uint8_t> behind = bytes;
    const std::optional<uint32_t> low =
        IsHighSurrogate(*unit) && !bytes.empty() ? TakeUnit(&behind) : std::nullopt;
    if (low && IsLowSurrogate(*low)) {
      bytes = behind;
      AppendUtf8(0x10000 + ((*unit - 0xd800) << 10) + (*low - 0xdc00), &text);
    } else {
      AppendUtf8(IsHighSurrogate(*unit) || IsLowSurrogate(*unit) ? '?' : *unit, &text);
    }
    if (text.size() <= kMostTextBytes) shown = text.size();
  }
  text.resize(shown);
  return text;
}

std::string ClassText(std::string_view name) {
  const size_t sign = name.find_last_of("+/");
  if (sign != std::string_view::npos && name.substr(sign + 1).starts_with("0x") &&
      std::ranges::all_of(name.substr(sign + 3), IsHex))
    name = name.substr(0, sign);
  std::string text(name);
  std::ranges::replace(text, '/', '.');
  return text;
}

std::vector<LineEntry> ReadLines(std::span<const uint8_t> bytes, uint32_t excluded) {
  constexpr uint8_t kEnd = 0, kWide = 0xff;
  std::vector<LineEntry> lines;
  LineEntry entry;
  while (!bytes.empty() && lines.size() < kMostLines) {
    const uint8_t head = bytes[0];
    bytes = bytes.subspan(1);
    if (head == kEnd) break;
    if (head != kWide) {
      entry.bytecode += head >> 3;
      entry.line += head & 7;
    } else {
      Unsigned5 numbers(bytes, excluded);
      const std::optional<int32_t> bytecode = numbers.NextSigned(), line = numbers.NextSigned();
      if (!bytecode || !line) break;
      // Sums of foreign numbers may pass their type's end.
      entry.bytecode = static_cast<int32_t>(static_cast<uint32_t>(entry.bytecode) +
                                            static_cast<uint32_t>(*bytecode));
      entry.line =
          static_cast<int32_t>(static_cast<uint32_t>(entry.line) + static_cast<uint32_t>(*line));
      bytes = bytes.subspan(numbers.position());
    }
    lines.push_back(entry);
  }
  return lines;
}

SourceLine Method::At(int32_t bytecode) const {
  SourceLine line{.function = function, .system_name = system_name, .file = file};
  int32_t best = -1;
  for (const LineEntry& entry : lines) {
    if (entry.bytecode > bytecode || entry.bytecode < best || entry.line <= 0) continue;
    best = entry.bytecode;
    line.line = entry.line;
  }
  return line;
}

absl::StatusOr<Method> ReadMethod(ProcessMemory& memory, const Layout& layout, uint64_t address,
                                  std::optional<uint32_t> check) {
  const auto const_method = ReadNumber<uint64_t>(memory, address + layout.bpf.const_method);
  std::array<uint8_t, kWordBytes> sizes{};
  if (const_method == 0 || !memory.Read(const_method + layout.bpf.code_size, sizes))
    return Failure(memory);
  if (check && hotspot_method_check(const_method, NumberAt<uint64_t>(sizes, 0)) != *check)
    return absl::DataLossError("another method by now");
  const auto pool = ReadNumber<uint64_t>(memory, const_method + layout.const_method_pool);
  const auto holder = ReadNumber<uint64_t>(memory, pool + layout.pool_holder);
  if (layout.threads.class_pool != kNoField &&
      ReadNumber<uint64_t>(memory, holder + layout.threads.class_pool) != pool)
    return Failure(memory);  // A class has its methods' pool, of each version its own.
  const auto text_at = [&](uint16_t field) {
    return PoolText(memory, layout, pool, ReadNumber<uint16_t>(memory, const_method + field));
  };
  const std::optional<std::string> name = text_at(layout.const_method_name);
  const std::optional<std::string> signature = text_at(layout.const_method_signature);
  const std::optional<std::string> holder_name =
      ReadSymbol(memory, layout, ReadNumber<uint64_t>(memory, holder + layout.class_name));
  if (!name || !signature || !holder_name || !IsMethodName(*name) || !IsSignature(*signature) ||
      !IsClassName(*holder_name))
    return Failure(memory);
  Method method;
  const std::string class_text = ClassText(*holder_name);
  method.file = FileOf(memory, layout, pool, holder);
  method.function = FunctionText(class_text, *name, method.file);
  method.file = FileWithoutCounter(method.file);
  std::string class_path = class_text;
  std::ranges::replace(class_path, '.', '/');
  method.system_name = class_path + "." + *name + *signature;
  method.lines = LinesOf(memory, layout, const_method, NumberAt<uint16_t>(sizes, 0));
  return method;
}

}  // namespace stackray::hotspot
