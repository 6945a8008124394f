#include "interpreters/php/function.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "bpf/shared/php.h"
#include "bpf/shared/records.h"

namespace stackray {
namespace {

constexpr uint64_t kMostStringBytes = uint64_t{1} << 31;  // More than any name has: no string.

absl::Status Failure(const ProcessMemory& memory) {
  return memory.IsGone() ? absl::NotFoundError("the process is gone")
                         : absl::DataLossError("no function any more");
}

// Is this a text of that hash? zend_inline_hash_func (Zend/zend_string.h, 7.3 to 8.6) is DJB's
// times 33; the highest bit says that there is one. A byte is a C char, which has a sign on x86-64
// and none on arm64.
bool HasHash(std::span<const uint8_t> text, uint64_t expected) {
  uint64_t with_sign = 5381, without = 5381;
  for (const uint8_t byte : text) {
    with_sign = with_sign * 33 + static_cast<uint64_t>(static_cast<int8_t>(byte));
    without = without * 33 + byte;
  }
  constexpr uint64_t kThereIsOne = uint64_t{1} << 63;
  return (with_sign | kThereIsOne) == expected || (without | kThereIsOne) == expected;
}

std::string Joined(const std::string& scope, const std::string& name) {
  return scope.empty() ? name : fmt::format("{}::{}", scope, name);
}

}  // namespace

std::optional<std::string> ReadPhpString(ProcessMemory& memory, const PhpFields& fields,
                                         uint64_t address) {
  std::array<uint8_t, 8> length_bytes{};
  if (!memory.Read(address + fields.string_length, length_bytes)) return std::nullopt;
  const auto length = NumberAt<uint64_t>(length_bytes, 0);
  if (length > kMostStringBytes) return std::nullopt;
  std::vector<uint8_t> bytes(std::min(length, kMaxPhpStringBytes));
  if (!bytes.empty() && !memory.Read(address + fields.string_text, bytes)) return std::nullopt;
  // Freed memory keeps most of a string: PHP's allocator writes to its ends first.
  std::array<uint8_t, 8> hash_bytes{};
  const bool is_whole = bytes.size() == length;
  if (is_whole && memory.Read(address + fields.string_hash, hash_bytes))
    if (const auto hash = NumberAt<uint64_t>(hash_bytes, 0); hash != 0 && !HasHash(bytes, hash))
      return std::nullopt;
  return std::string(bytes.begin(), std::find(bytes.begin(), bytes.end(), 0));
}

SourceLine PhpFunction::LineAt(int32_t instruction) const {
  const auto bits = static_cast<uint32_t>(instruction);
  SourceLine line;
  line.file = file_;
  line.start_line = first_line_;
  line.line = bits & PHP_LINE_MASK;
  if (!name_.empty())
    line.function = name_;
  else if ((bits & PHP_OUTERMOST) != 0)
    line.function = "{main}";
  else if ((bits & PHP_EVALUATED) != 0)
    line.function = "eval";
  else
    line.function = file_.empty() ? "[stale]" : fmt::format("include {}", file_);
  return line;
}

std::optional<std::string> PhpFunctionReader::ReadClassName(ProcessMemory& memory,
                                                            uint64_t address) const {
  std::array<uint8_t, 8> name{};
  if (!memory.Read(address + fields.class_name, name)) return std::nullopt;
  return ReadPhpString(memory, fields, NumberAt<uint64_t>(name, 0));
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> PhpFunctionReader::ReadFunction(
    ProcessMemory& memory, uint64_t address, uint32_t check) const {
  std::array<uint8_t, PHP_FUNCTION_BYTES> bytes{};
  if (!memory.Read(address, std::span(bytes).first(PHP_COMMON_BYTES))) return Failure(memory);
  const bool is_internal = bytes[fields.function_type % bytes.size()] == PHP_INTERNAL_FUNCTION;
  if (!is_internal && !memory.Read(address, std::span(bytes).first(fields.function_first_line + 4)))
    return Failure(memory);
  const auto name_at = NumberAt<uint64_t>(bytes, fields.function_name);
  const auto scope_at = NumberAt<uint64_t>(bytes, fields.function_scope);
  const uint64_t file_at = is_internal ? 0 : NumberAt<uint64_t>(bytes, fields.function_filename);
  const uint64_t code_at =
      is_internal ? 0 : NumberAt<uint64_t>(bytes, fields.function_instructions);
  const uint32_t first_line =
      is_internal ? 0 : NumberAt<uint32_t>(bytes, fields.function_first_line);
  if (php_function_check(first_line, name_at, scope_at, file_at, code_at) != check)
    return absl::DataLossError("another function by now");
  std::string name, file;
  if (name_at != 0) {
    std::optional<std::string> text = ReadPhpString(memory, fields, name_at);
    std::optional<std::string> scope = scope_at == 0 ? "" : ReadClassName(memory, scope_at);
    if (!text || !scope) return Failure(memory);
    name = Joined(*scope, *text);
  }
  if (file_at != 0) {
    // It may not have been sent along, and is no reason to lose the name.
    file = ReadPhpString(memory, fields, file_at).value_or("");
  }
  return std::make_shared<const PhpFunction>(std::move(name), std::move(file), first_line);
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> PhpFunctionReader::ReadClosure(
    ProcessMemory& memory, uint64_t place, uint32_t check) const {
  // Of a closure's check, the upper two bits are the pointers' upmost ones.
  const auto high = [&](int shift) {
    return uint64_t{check >> shift & 1} << (3 + PHP_POINTER_BITS);
  };
  const uint64_t first =
      (place & ((uint64_t{1} << PHP_POINTER_BITS) - 1)) << 3 | high(PHP_FIRST_HIGH_SHIFT);
  const uint64_t low = (place >> PHP_POINTER_BITS & 15) | (place >> (PHP_FORM_SHIFT + 2) & 0x3ff)
                                                              << 4;
  const uint64_t second =
      uint64_t{check & 0x3fffffff} << (3 + PHP_LOW_BITS) | low << 3 | high(PHP_SECOND_HIGH_SHIFT);
  const uint64_t form = place >> PHP_FORM_SHIFT & 3;
  const uint64_t hashed = form == PHP_BY_NAME && first != 0 ? first : second;
  const auto expected = static_cast<uint32_t>(place >> 60);
  if (expected != 0) {
    std::array<uint8_t, 8> hash{};
    if (!memory.Read(hashed + fields.string_hash, hash) ||
        php_string_check(NumberAt<uint64_t>(hash, 0)) != expected)
      return Failure(memory);
  }
  std::optional<std::string> scope = "", name = "{closure}", file = "";
  if (form != PHP_BY_NAME) scope = ReadClassName(memory, first);
  if (form == PHP_BY_NAME) name = first == 0 ? "" : ReadPhpString(memory, fields, first);
  if (form == PHP_BY_BOTH)
    name = ReadPhpString(memory, fields, second);
  else if (second != 0)
    file = ReadPhpString(memory, fields, second);
  if (!scope || !name || !file) return Failure(memory);
  return std::make_shared<const PhpFunction>(Joined(*scope, *name), *std::move(file), 0);
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> PhpFunctionReader::Read(ProcessMemory& memory,
                                                                           uint64_t place,
                                                                           uint32_t check) const {
  if ((place >> PHP_FORM_SHIFT & 3) == PHP_BY_FUNCTION)
    return ReadFunction(memory, place & FRAME_OFFSET_MASK, check);
  return ReadClosure(memory, place, check);
}

}  // namespace stackray
