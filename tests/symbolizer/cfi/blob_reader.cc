#include "tests/symbolizer/cfi/blob_reader.h"

#include <cstring>

#include "fmt/format.h"

namespace stackray {
namespace {

constexpr const char* kRegisters[] = {"rax", "rdx", "rcx", "rbx", "rsi", "rdi", "rbp", "rsp",
                                      "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};

constexpr unsigned kX30 = 30;

std::string Upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

std::string RegisterName(unsigned number, uint16_t machine) {
  if (machine == EM_AARCH64) return number == 31 ? "sp" : fmt::format("x{}", number);
  return number < std::size(kRegisters) ? kRegisters[number] : "?";
}

u16 CodeAt(std::span<const uint8_t> blob, size_t position) {
  return static_cast<u16>(blob[position] | blob[position + 1] << 8);
}

std::string CheckHeader(const page_header& header, size_t blob_bytes) {
  const size_t row_end = sizeof(header) + ROW_BYTES * header.start[PAGE_BLOCKS];
  if (header.size_bytes != blob_bytes || blob_bytes % HANDLE_UNIT != 0) return "size";
  if (header.start[0] != 0) return "start[0]";
  for (size_t b = 0; b < PAGE_BLOCKS; ++b)
    if (header.start[b] > header.start[b + 1]) return "start descends";
  if (header.reserved != 0) return "reserved";
  if (header.rules_offset % 8 != 0 || header.rules_offset < row_end) return "rules_offset";
  if (header.rule_count > PAGE_MAX_RULES) return "rule_count";
  if (header.rules_offset + sizeof(unwind_rule) * header.rule_count > blob_bytes)
    return "rules end";
  return "";
}

std::string CheckCode(u16 code, size_t rule_count, uint16_t machine) {
  const unsigned base = code >> CODE_BASE_SHIFT;
  const unsigned index = code & CODE_INDEX_MASK;
  if (base == CODE_BASE_RSP || base == CODE_BASE_RBP) return "";
  if ((base == CODE_BASE_LARGE || base == CODE_BASE_LARGE_SAME_RBP) && machine == EM_X86_64)
    return "";
  if ((base == ARM64_BASE_LR_ALONE || base == ARM64_BASE_GO) && machine == EM_AARCH64) return "";
  if (base == CODE_BASE_RULE) return index < rule_count ? "" : "rule index";
  if (base == CODE_BASE_SPECIAL) return index <= SPECIAL_RUNTIME ? "" : "special";
  return "base";
}

std::string ValueText(unsigned kind, unsigned other, s32 offset, uint16_t machine) {
  switch (kind) {
    case VALUE_SAME: return "u";
    case VALUE_AT_CFA: return fmt::format("c{:+}", offset);
    case VALUE_REGISTER: return RegisterName(other, machine);
    case VALUE_AT_REGISTER: return "exp";
    default: return "?";
  }
}

// As llvm-dwarfdump spells it.
std::string ExactName(unsigned number, uint16_t machine) {
  if (machine == EM_AARCH64) return number == 31 ? "WSP" : fmt::format("W{}", number);
  return Upper(RegisterName(number, machine));
}

std::string Based(unsigned number, s32 offset, uint16_t machine) {
  return fmt::format("DW_OP_breg{} {}{:+}", number, ExactName(number, machine), offset);
}

std::string ValueExact(unsigned kind, unsigned other, s32 offset, uint16_t machine) {
  switch (kind) {
    case VALUE_SAME: return "";
    case VALUE_AT_CFA: return fmt::format("[CFA{:+}]", offset);
    case VALUE_REGISTER: return ExactName(other, machine);
    case VALUE_AT_REGISTER: return fmt::format("[{}]", Based(other, offset, machine));
    default: return "?";
  }
}

CodeText DescribeRule(const unwind_rule& rule, uint16_t machine) {
  CodeText text;
  if (rule.cfa_kind == CFA_REGISTER) {
    text.cfa = fmt::format("{}{:+}", RegisterName(rule.cfa_register, machine), rule.cfa_offset);
    text.cfa_exact = ExactName(rule.cfa_register, machine) + fmt::format("{:+}", rule.cfa_offset);
  } else if (rule.cfa_kind >= CFA_OTHER_STACK) {
    text.cfa = text.cfa_exact = fmt::format("other stack{:+}", rule.cfa_offset);
  } else {
    text.cfa = "exp";
    text.cfa_exact = Based(rule.cfa_register, rule.cfa_offset, machine);
    if (rule.cfa_index != 0)
      text.cfa_exact +=
          ", " + Based(rule.cfa_index - 1u, 0, machine) + ", DW_OP_lit8, DW_OP_mul, DW_OP_plus";
    text.cfa_exact += ", DW_OP_deref";
    if (rule.cfa_add != 0) text.cfa_exact += fmt::format(", DW_OP_plus_uconst {:#x}", rule.cfa_add);
  }
  text.rbp = ValueText(rule.rbp_kind, rule.rbp_register, rule.rbp_offset, machine);
  text.ra = ValueText(rule.ra_kind, rule.ra_register, rule.ra_offset, machine);
  // "Unchanged", which readelf shows as it shows what is not said.
  text.rbx =
      rule.rbx_kind == VALUE_REGISTER ? "u" : ValueText(rule.rbx_kind, 0, rule.rbx_offset, machine);
  text.rbp_exact = ValueExact(rule.rbp_kind, rule.rbp_register, rule.rbp_offset, machine);
  text.ra_exact = ValueExact(rule.ra_kind, rule.ra_register, rule.ra_offset, machine);
  if (machine == EM_AARCH64 && rule.ra_kind == VALUE_REGISTER && rule.ra_register == kX30) {
    text.ra = "u";
    text.ra_exact = "";
  }
  return text;
}

// The rule that a code of arm64 stands for.
unwind_rule Arm64Rule(u16 code) {
  const unsigned base = code >> CODE_BASE_SHIFT;
  const int n = code >> ARM64_SAVED_SHIFT & ARM64_SAVED_MASK;
  unwind_rule rule{};
  rule.cfa_register = base == ARM64_BASE_FP ? 29 : 31;
  rule.cfa_offset = (code & CODE_CFA_MASK) * 16;
  if (base == ARM64_BASE_GO) {
    rule.ra_kind = VALUE_AT_CFA;
    rule.ra_offset = -rule.cfa_offset;
    if (n != 0) rule.rbp_kind = VALUE_AT_CFA;
    rule.rbp_offset = n != 0 ? rule.ra_offset - 8 : 0;
  } else if (base == ARM64_BASE_LR_ALONE) {
    rule.ra_kind = VALUE_AT_CFA;
    rule.ra_offset = -8 * (n + 1);
  } else if (n == 0) {
    rule.ra_kind = VALUE_REGISTER;
    rule.ra_register = kX30;
  } else {
    rule.rbp_kind = rule.ra_kind = VALUE_AT_CFA;
    rule.rbp_offset = n == 1 ? -rule.cfa_offset : -16 * (n - 1);
    rule.ra_offset = rule.rbp_offset + 8;
  }
  return rule;
}

}  // namespace

DecodedPage DecodePage(std::span<const uint8_t> blob, uint16_t machine) {
  DecodedPage page;
  page_header header;
  if (blob.size() < sizeof(header)) return {.error = "shorter than its header"};
  std::memcpy(&header, blob.data(), sizeof(header));
  page.error = CheckHeader(header, blob.size());
  if (!page.error.empty()) return page;
  page.rules.resize(header.rule_count);
  if (header.rule_count != 0)
    std::memcpy(page.rules.data(), blob.data() + header.rules_offset,
                sizeof(unwind_rule) * header.rule_count);
  page.code_at.reserve(PAGE_TEXT_BYTES);
  u16 before = header.sentinel;  // Holds up to the next row.
  page.error = CheckCode(header.sentinel, header.rule_count, machine);
  for (size_t block = 0; block < PAGE_BLOCKS; ++block) {
    const size_t count = header.start[block + 1] - header.start[block];
    const size_t keys = sizeof(header) + ROW_BYTES * header.start[block];
    for (size_t i = 0; i < count; ++i) {
      const uint32_t offset = static_cast<uint32_t>(block << BLOCK_TEXT_SHIFT) + blob[keys + i];
      const u16 code = CodeAt(blob, keys + count + 2 * i);
      if (!page.row_starts.empty() && offset <= page.row_starts.back())
        page.error = "keys descend";
      else
        page.code_at.resize(offset, before);
      before = code;
      if (page.error.empty()) page.error = CheckCode(code, header.rule_count, machine);
      page.row_starts.push_back(offset);
    }
  }
  page.code_at.resize(PAGE_TEXT_BYTES, before);
  return page;
}

u16 FindCodeLinearly(std::span<const uint8_t> blob, uint32_t offset_in_page) {
  page_header header;
  std::memcpy(&header, blob.data(), sizeof(header));
  u16 code = header.sentinel;
  for (size_t block = 0; block <= offset_in_page >> BLOCK_TEXT_SHIFT; ++block) {
    const size_t count = header.start[block + 1] - header.start[block];
    const size_t keys = sizeof(header) + ROW_BYTES * header.start[block];
    for (size_t i = 0; i < count; ++i)
      if ((block << BLOCK_TEXT_SHIFT) + blob[keys + i] <= offset_in_page)
        code = CodeAt(blob, keys + count + 2 * i);
  }
  return code;
}

CodeText DescribeCode(u16 code, const std::vector<unwind_rule>& rules, uint16_t machine) {
  const unsigned base = code >> CODE_BASE_SHIFT;
  if (base == CODE_BASE_SPECIAL) {
    constexpr const char* kNames[] = {"NONE",        "END",   "SIGNAL", "PLT",
                                      "UNSUPPORTED", "START", "RUNTIME"};
    return {.special = kNames[code & CODE_INDEX_MASK]};
  }
  if (base == CODE_BASE_RULE) {
    const unwind_rule& rule = rules[code & CODE_INDEX_MASK];
    CodeText text = DescribeRule(rule, machine);
    text.guessed = rule.guessed != 0;
    return text;
  }
  if (machine == EM_AARCH64) return DescribeRule(Arm64Rule(code), machine);
  unwind_rule rule{};
  const bool large = base == CODE_BASE_LARGE || base == CODE_BASE_LARGE_SAME_RBP;
  rule.cfa_register = base == CODE_BASE_RBP ? 6 : 7;
  rule.cfa_offset = (code & (large ? CODE_LARGE_CFA_MASK : CODE_CFA_MASK)) * 8;
  int n = code >> CODE_RBP_SHIFT & CODE_RBP_MASK;
  if (large) n = base == CODE_BASE_LARGE ? 2 : 0;
  if (n != 0) {
    rule.rbp_kind = VALUE_AT_CFA;
    rule.rbp_offset = -8 * n;
  }
  rule.ra_kind = VALUE_AT_CFA;
  rule.ra_offset = -8;
  CodeText text = DescribeRule(rule, machine);
  text.rbx = "?";  // Compact rows do not say.
  return text;
}

}  // namespace stackray
