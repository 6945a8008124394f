#include "symbolizer/cfi/sframe_rows.h"

#include <dwarf.h>

#include <algorithm>

namespace stackray::cfi {
namespace {

constexpr uint16_t kMagic = 0xdee2;
constexpr uint8_t kFlagSorted = 1, kFlagStartsAtField = 4;
constexpr uint8_t kArm64LittleEndian = 2, kAmd64LittleEndian = 3;
constexpr size_t kMaxWords = 15;
constexpr size_t kPltStubBytes = 16;  // What version 1, which does not say it, is used for.

struct Words {
  std::array<int64_t, kMaxWords> values = {};
  size_t count = 0, next = 0;
  unsigned bytes = 1;

  std::optional<int64_t> Take() {
    if (next == count) return std::nullopt;
    return values[next++];
  }
};

int64_t ReadWord(ByteCursor& cursor, unsigned bytes) {
  switch (bytes) {
    case 1: return cursor.Read<int8_t>();
    case 2: return cursor.Read<int16_t>();
    default: return cursor.Read<int32_t>();
  }
}

RegisterRule AtCfa(int64_t offset) { return {.kind = RuleKind::kAtCfa, .offset = offset}; }

// The default kind: CFA, then where x30 is saved (arm64), then the frame pointer.
bool SetDefault(const SframeHeader& header, bool from_sp, Words words, CfaState* state) {
  const Machine& machine = *header.machine;
  state->cfa.base_register = from_sp ? machine.stack_register : machine.frame_register;
  state->cfa.offset = words.Take().value_or(0);
  RegisterRule& ra = state->registers[kSlotRa];
  if (header.fixed_ra_offset != 0)
    ra = AtCfa(header.fixed_ra_offset);
  else if (const int64_t offset = words.Take().value_or(0); offset != 0)  // 0: a filler.
    ra = AtCfa(offset);
  else if (!machine.is_arm64())
    return false;
  if (header.fixed_fp_offset != 0)
    state->registers[kSlotRbp] = AtCfa(header.fixed_fp_offset);
  else if (const std::optional<int64_t> offset = words.Take())
    state->registers[kSlotRbp] = AtCfa(*offset);
  return words.next == words.count;  // More of them mean something that was not known yet.
}

// Version 3's flexible kind: a value is a register or the CFA, plus an offset, perhaps what lies
// there.
struct FlexibleValue {
  bool is_given = false, from_register = false, dereferenced = false;
  uint8_t number = 0;
  int64_t offset = 0;
};

bool TakeFlexible(const Machine& machine, Words& words, FlexibleValue* value) {
  const std::optional<int64_t> control = words.Take();
  if (!control || *control == 0) return true;
  // Not signed, other than the offset behind it.
  const uint64_t bits = static_cast<uint64_t>(*control) & (~uint64_t{0} >> (64 - 8 * words.bytes));
  const std::optional<int64_t> offset = words.Take();
  value->is_given = true;
  value->from_register = (bits & 1) != 0;
  value->dereferenced = (bits & 2) != 0;
  if (!offset || (bits & 4) != 0 ||
      (value->from_register && bits >> 3 >= machine.general_registers))
    return false;
  value->number = static_cast<uint8_t>(value->from_register ? bits >> 3 : 0);
  value->offset = *offset;
  return true;
}

// DW_OP_breg with the offset, of 32 bits, perhaps DW_OP_deref. Returns its bytes.
uint32_t PutExpression(const FlexibleValue& value, bool dereferenced, std::array<uint8_t, 8>* out) {
  uint32_t size = 0;
  (*out)[size++] = static_cast<uint8_t>(DW_OP_breg0 + value.number);
  int64_t rest = value.offset;
  for (int i = 0; i < 5; ++i, rest >>= 7)
    (*out)[size++] = static_cast<uint8_t>((rest & 0x7f) | (i < 4 ? 0x80 : 0));
  if (dereferenced) (*out)[size++] = DW_OP_deref;
  return size;
}

RegisterRule FlexibleRule(const FlexibleValue& value, std::array<uint8_t, 8>* expression) {
  if (!value.from_register)
    return {.kind = value.dereferenced ? RuleKind::kAtCfa : RuleKind::kCfaValue,
            .offset = value.offset};
  if (!value.dereferenced && value.offset == 0)
    return {.kind = RuleKind::kRegister, .other_register = value.number};
  const uint32_t bytes = PutExpression(value, false, expression);
  return {.kind = value.dereferenced ? RuleKind::kExpression : RuleKind::kValueExpression,
          .expression_bytes = bytes,
          .expression = expression->data()};
}

bool SetFlexible(const SframeHeader& header, Words words, SframeRow* row) {
  FlexibleValue cfa, ra, fp;
  const Machine& machine = *header.machine;
  if (!TakeFlexible(machine, words, &cfa) || !TakeFlexible(machine, words, &ra) ||
      !TakeFlexible(machine, words, &fp) || !cfa.from_register || words.next != words.count)
    return false;
  CfaState& state = row->state;
  state.cfa.base_register = cfa.number;
  state.cfa.offset = cfa.offset;
  if (cfa.dereferenced) {
    state.cfa.is_expression = true;
    state.cfa.expression_bytes = PutExpression(cfa, true, &row->expressions[0]);
    state.cfa.expression = row->expressions[0].data();
  }
  if (ra.is_given)
    state.registers[kSlotRa] = FlexibleRule(ra, &row->expressions[1]);
  else if (header.fixed_ra_offset != 0)
    state.registers[kSlotRa] = AtCfa(header.fixed_ra_offset);
  else if (!machine.is_arm64())
    return false;
  if (fp.is_given)
    state.registers[kSlotRbp] = FlexibleRule(fp, &row->expressions[2]);
  else if (header.fixed_fp_offset != 0)
    state.registers[kSlotRbp] = AtCfa(header.fixed_fp_offset);
  return true;
}

uint64_t ReadBegin(ByteCursor& cursor, unsigned bytes) {
  switch (bytes) {
    case 1: return cursor.Read<uint8_t>();
    case 2: return cursor.Read<uint16_t>();
    default: return cursor.Read<uint32_t>();
  }
}

}  // namespace

std::optional<SframeHeader> ParseSframeHeader(std::span<const uint8_t> bytes,
                                              uint64_t section_bytes, const Machine& machine) {
  ByteCursor cursor(bytes);
  SframeHeader header;
  header.machine = &machine;
  const uint16_t magic = cursor.Read<uint16_t>();
  header.version = cursor.Read<uint8_t>();
  const uint8_t flags = cursor.Read<uint8_t>();
  header.sorted = (flags & kFlagSorted) != 0;
  header.starts_at_field = header.version > 1 && (flags & kFlagStartsAtField) != 0;
  const uint8_t abi = cursor.Read<uint8_t>();
  header.fixed_fp_offset = cursor.Read<int8_t>();
  header.fixed_ra_offset = cursor.Read<int8_t>();
  const uint64_t more_header_bytes = cursor.Read<uint8_t>();
  header.function_count = cursor.Read<uint32_t>();
  cursor.Read<uint32_t>();  // The number of all rows, which each function says of its own.
  header.rows_bytes = cursor.Read<uint32_t>();
  header.functions_begin = SframeHeader::kBytes + more_header_bytes + cursor.Read<uint32_t>();
  header.rows_begin = SframeHeader::kBytes + more_header_bytes + cursor.Read<uint32_t>();
  if (!cursor.ok() || magic != kMagic || header.version < 1 || header.version > 3 ||
      abi != (machine.is_arm64() ? kArm64LittleEndian : kAmd64LittleEndian) ||
      header.functions_begin > section_bytes || header.rows_begin > section_bytes)
    return std::nullopt;
  header.rows_bytes = std::min(header.rows_bytes, section_bytes - header.rows_begin);
  header.function_count = std::min(
      header.function_count, (section_bytes - header.functions_begin) / header.function_bytes());
  return header;
}

bool ParseSframeAttributes(ByteCursor cursor, const SframeHeader& header,
                           SframeFunction* function) {
  function->row_count = header.version == 3 ? cursor.Read<uint16_t>() : cursor.Read<uint32_t>();
  const uint8_t info = cursor.Read<uint8_t>();
  const uint8_t more_info = header.version == 3 ? cursor.Read<uint8_t>() : 0;
  function->block_bytes = header.version == 1 ? kPltStubBytes : cursor.Read<uint8_t>();
  if (!cursor.ok()) return false;
  const unsigned type = info & 0xf;
  function->address_bytes = type > 2 ? 0 : static_cast<uint8_t>(1u << type);
  function->repeats = (info & 0x10) != 0;
  function->is_signal_frame = header.version == 3 && (info & 0x80) != 0;
  function->is_flexible = (more_info & 0x1f) == 1;
  function->is_outermost = header.version == 3 && more_info == 0 && function->row_count == 0;
  return function->address_bytes != 0 && (more_info & 0x1f) <= 1 &&
         (!function->repeats || function->block_bytes != 0);
}

bool ReadSframeRow(const SframeHeader& header, const SframeFunction& function, ByteCursor& cursor,
                   SframeRow* row) {
  row->begin = ReadBegin(cursor, function.address_bytes);
  const uint8_t info = cursor.Read<uint8_t>();
  const unsigned size_code = info >> 5 & 3;
  Words words{.count = static_cast<size_t>(info >> 1 & 0xf), .bytes = 1u << size_code};
  if (!cursor.ok() || size_code == 3) return false;
  for (size_t i = 0; i < words.count; ++i) words.values[i] = ReadWord(cursor, words.bytes);
  if (!cursor.ok()) return false;
  row->state = {};
  row->usable = true;
  if (words.count == 0)
    row->state.registers[kSlotRa].kind = RuleKind::kUndefined;
  else if (function.is_flexible)
    row->usable = SetFlexible(header, words, row);
  else
    row->usable = SetDefault(header, (info & 1) != 0, words, &row->state);
  return true;
}

}  // namespace stackray::cfi
