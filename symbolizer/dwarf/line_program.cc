#include "symbolizer/dwarf/line_program.h"

namespace stackray::dwarf {
namespace {

enum StandardOpcode : uint8_t {  // DW_LNS_*
  kExtended = 0,
  kCopy = 1,
  kAdvancePc = 2,
  kAdvanceLine = 3,
  kSetFile = 4,
  kSetColumn = 5,
  kConstAddPc = 8,
  kFixedAdvancePc = 9,
};
enum ExtendedOpcode : uint8_t { kEndSequence = 1, kSetAddress = 2 };  // DW_LNE_*

}  // namespace

LineProgram::Step LineProgram::Next() {
  if (restart_) row_ = {};
  restart_ = false;
  while (cursor_.ok() && cursor_.position() < header_.end && cursor_.budget().Spend(1)) {
    const auto opcode = cursor_.Read<uint8_t>();
    if (!cursor_.ok()) break;
    if (opcode >= header_.opcode_base) {
      const unsigned special = opcode - header_.opcode_base;
      Advance(special / header_.line_range);
      AdvanceLine(header_.line_base + static_cast<int>(special % header_.line_range));
      return Step::kRow;
    }
    if (opcode != kExtended) {
      if (RunStandard(opcode)) return Step::kRow;
      continue;
    }
    if (RunExtended(&restart_)) return Step::kEndOfSequence;
  }
  return Step::kOver;
}

bool LineProgram::RunStandard(uint8_t opcode) {
  switch (opcode) {
    case kCopy: return true;
    case kAdvancePc: Advance(cursor_.ReadUleb()); break;
    case kAdvanceLine: AdvanceLine(cursor_.ReadSleb()); break;
    case kSetFile: row_.file = static_cast<uint32_t>(cursor_.ReadUleb()); break;
    case kSetColumn: row_.column = static_cast<uint32_t>(cursor_.ReadUleb()); break;
    case kConstAddPc: Advance((255u - header_.opcode_base) / header_.line_range); break;
    case kFixedAdvancePc: row_.address += cursor_.Read<uint16_t>(); break;
    default:  // The header says how many arguments, also of those that nobody knows.
      for (unsigned i = 0; i < header_.opcode_arguments[opcode - 1u]; ++i) cursor_.ReadUleb();
  }
  return false;
}

bool LineProgram::RunExtended(bool* end_of_sequence) {
  const uint64_t length = cursor_.ReadUleb();
  const uint64_t begin = cursor_.position();
  if (length == 0 || !cursor_.ok() || length > header_.end - begin) {
    if (length != 0) cursor_.Fail();
    return false;
  }
  const auto opcode = cursor_.Read<uint8_t>();
  if (opcode == kSetAddress && length <= 9)
    row_.address = cursor_.ReadSized(static_cast<unsigned>(length - 1));
  *end_of_sequence = opcode == kEndSequence;
  const uint64_t read = cursor_.position() - begin;
  if (cursor_.ok() && length >= read) cursor_.Skip(length - read);
  return *end_of_sequence;
}

}  // namespace stackray::dwarf
