#include "interpreters/perl/code.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "bpf/shared/perl.h"
#include "interpreters/utf8.h"

namespace stackray {
namespace {

constexpr uint64_t kTextStep = 64;  // Texts of unknown length are read in such pieces.
constexpr uint8_t kUtf8Flag = 1;    // HVhek_UTF8, in the byte behind a key's text and its NUL.
constexpr std::string_view kFileGlob = "_<", kEvalFile = "(eval)";

absl::Status Failure(const ProcessMemory& memory) {
  return memory.IsGone() ? absl::NotFoundError("the process is gone")
                         : absl::DataLossError("no code any more");
}

uint64_t WordAt(ProcessMemory& memory, uint64_t address, bool* ok) {
  std::array<uint8_t, 8> bytes{};
  *ok = *ok && memory.Read(address, bytes);
  return NumberAt<uint64_t>(bytes, 0);
}

std::string FromLatin1(std::span<const uint8_t> bytes) {
  std::string text;
  for (const uint8_t byte : bytes) AppendUtf8(byte, &text);
  return text;
}

// Up to its NUL. An unreadable rest is left out: BPF sends the beginning of a text.
std::optional<std::string> ReadText(ProcessMemory& memory, uint64_t address) {
  std::string text;
  while (text.size() < kMaxPerlNameBytes) {
    // Up to a multiple of the step, so that no piece reaches into a page that the text does not.
    const uint64_t at = address + text.size();
    std::vector<uint8_t> bytes(kTextStep - at % kTextStep);
    if (!memory.Read(at, bytes)) {
      if (text.empty()) return std::nullopt;
      break;
    }
    const auto end = std::find(bytes.begin(), bytes.end(), 0);
    text.append(bytes.begin(), end);
    if (end != bytes.end()) break;
  }
  return text;
}

const char* NameOfKind(uint64_t kind) {
  switch (kind) {
    case PERL_MAIN_PROGRAM: return "{main}";
    case PERL_EVAL_BLOCK: return "eval {...}";
    case PERL_EVAL_TEXT: return "eval '...'";
    case PERL_REQUIRED_FILE: return "require";
    case PERL_DONE_FILE: return "do";
    case PERL_SORT_BLOCK: return "sort {...}";
    case PERL_REGEX_BLOCK: return "(?{...})";
    case PERL_DEFER_BLOCK: return "defer {...}";
    default: return "(unknown)";  // As caller() has it.
  }
}

}  // namespace

std::optional<std::string> ReadPerlKey(ProcessMemory& memory, uint64_t address) {
  std::array<uint8_t, 4> length_bytes{};
  if (address == 0 || !memory.Read(address + 4, length_bytes)) return std::nullopt;
  const auto length = NumberAt<uint32_t>(length_bytes, 0);
  if (length > kMaxPerlNameBytes) return std::nullopt;
  std::vector<uint8_t> bytes(length + 2);  // The text, a NUL, the flags.
  if (!memory.Read(address + PERL_HEK_TEXT, bytes) || bytes[length] != 0) return std::nullopt;
  const std::span<const uint8_t> text(bytes.data(), length);
  if ((bytes[length + 1] & kUtf8Flag) == 0) return FromLatin1(text);
  return std::string(text.begin(), text.end());
}

SourceLine PerlCode::LineAt(int32_t instruction) const {
  SourceLine line;
  line.function = name_;
  line.file = file_;
  line.line = instruction;
  return line;
}

std::optional<std::string> PerlCodeReader::ReadPackage(ProcessMemory& memory,
                                                       uint64_t stash) const {
  bool ok = stash != 0;
  const uint64_t body = WordAt(memory, stash, &ok);
  uint64_t extra = body + fields.hash_extra;
  if (fields.hash_extra == 0) {
    const uint64_t array = WordAt(memory, stash + 16, &ok);
    extra = array + (WordAt(memory, body + fields.hash_last, &ok) + 1) * 8;
  }
  uint64_t name = WordAt(memory, extra + fields.extra_name, &ok);
  std::array<uint8_t, 4> count{};
  ok = ok && memory.Read(extra + fields.extra_name_count, count);
  if (!ok) return std::nullopt;
  // Of several names, the first of a list.
  if (NumberAt<uint32_t>(count, 0) != 0) name = WordAt(memory, name, &ok);
  if (name == 0) return ok ? std::optional<std::string>("__ANON__") : std::nullopt;
  return ok ? ReadPerlKey(memory, name) : std::nullopt;
}

std::optional<std::string> PerlCodeReader::ReadOwner(ProcessMemory& memory, uint64_t owner) const {
  std::array<uint8_t, 16> head{};
  if (!memory.Read(owner, head)) return std::nullopt;
  const auto body = NumberAt<uint64_t>(head, 0);
  const uint32_t type = NumberAt<uint32_t>(head, PERL_VALUE_FLAGS) & PERL_VALUE_TYPE_MASK;
  const bool is_code = type == fields.type_code || type == fields.type_code + 1;
  if (!is_code && type != fields.type_glob) return std::nullopt;
  bool ok = true;
  if (is_code) {
    const uint64_t flags =
        WordAt(memory, body + (fields.code_flags & ~7u), &ok) >> (fields.code_flags % 8 * 8);
    if (!ok || (flags & fields.named_flag) == 0) return std::nullopt;
  }
  const uint64_t name = WordAt(memory, body + (is_code ? fields.code_glob : fields.glob_name), &ok);
  const uint64_t stash =
      WordAt(memory, body + (is_code ? fields.code_stash : fields.glob_stash), &ok);
  if (!ok) return std::nullopt;
  const std::optional<std::string> text = ReadPerlKey(memory, name);
  const std::optional<std::string> package = stash == 0 ? "__ANON__" : ReadPackage(memory, stash);
  if (!text || !package) return std::nullopt;
  return fmt::format("{}::{}", *package, *text);
}

std::optional<std::string> PerlCodeReader::ReadFile(ProcessMemory& memory, uint64_t address,
                                                    uint32_t check) const {
  std::optional<std::string> text =
      has_threads ? ReadText(memory, address) : ReadPerlKey(memory, address);
  if (!text) return std::nullopt;
  std::array<uint64_t, 2> begin{};
  std::copy_n(text->begin(), std::min(text->size(), sizeof(begin)),
              reinterpret_cast<char*>(begin.data()));
  // The key's text is as in memory only where it is ASCII.
  const bool is_ascii = std::all_of(text->begin(), text->end(), [](char c) { return c >= 0; });
  if ((has_threads || is_ascii) && perl_text_check(begin[0], begin[1]) != check)
    return std::nullopt;
  if (!has_threads && text->starts_with(kFileGlob)) text->erase(0, kFileGlob.size());
  return text;
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> PerlCodeReader::Read(ProcessMemory& memory,
                                                                        uint64_t code,
                                                                        uint32_t check) const {
  const uint64_t named = perl_owner_in(code, check);
  const uint64_t file_at = perl_file_in(code, check);
  std::optional<std::string> file = "", name;
  if (file_at == PERL_FILE_OF_EVAL)
    file = kEvalFile;
  else if (file_at != 0)
    file = ReadFile(memory, file_at << 3, perl_text_check_in(check));
  if (named < PERL_CODE_KINDS)
    name = NameOfKind(named);
  else
    name = ReadOwner(memory, named << 3);
  if (!name || !file) return Failure(memory);
  if (named == PERL_REQUIRED_FILE || named == PERL_DONE_FILE)
    name = fmt::format("{} {}", *name, *file);
  return std::make_shared<const PerlCode>(*std::move(name), *std::move(file));
}

}  // namespace stackray
