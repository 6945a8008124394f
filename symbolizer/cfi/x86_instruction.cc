#include "symbolizer/cfi/x86_instruction.h"

#include <array>
#include <bit>
#include <cstring>
#include <optional>

namespace stackray::cfi {
namespace {

constexpr uint8_t kRsp = 4, kRbp = 5;
constexpr size_t kMaxInstructionBytes = 15;

enum Form : uint8_t {
  kBad = 0,
  kPlain = 1,
  kModRm = 2,
  kImm8 = 4,
  kImm16 = 8,
  kImmZ = 16,   // 4 bytes, 2 with the prefix 66.
  kRel32 = 32,  // 4 bytes always.
};

// One-byte opcodes 00 to 3f follow one pattern; the others are listed.
constexpr std::array<uint8_t, 256> MakeOneByteForms() {
  std::array<uint8_t, 256> forms{};
  const auto set = [&forms](int first, int last, uint8_t form) {
    for (int i = first; i <= last; ++i) forms[static_cast<size_t>(i)] = form;
  };
  for (int row = 0; row < 0x40; row += 8) {
    set(row, row + 3, kModRm);
    set(row + 4, row + 4, kImm8);
    set(row + 5, row + 5, kImmZ);
  }
  set(0x50, 0x5f, kPlain);
  set(0x63, 0x63, kModRm);
  set(0x68, 0x68, kImmZ);
  set(0x69, 0x69, kModRm | kImmZ);
  set(0x6a, 0x6a, kImm8);
  set(0x6b, 0x6b, kModRm | kImm8);
  set(0x6c, 0x6f, kPlain);
  set(0x70, 0x7f, kImm8);
  set(0x80, 0x80, kModRm | kImm8);
  set(0x81, 0x81, kModRm | kImmZ);
  set(0x83, 0x83, kModRm | kImm8);
  set(0x84, 0x8f, kModRm);
  set(0x90, 0x99, kPlain);
  set(0x9b, 0x9f, kPlain);
  set(0xa4, 0xa7, kPlain);
  set(0xa8, 0xa8, kImm8);
  set(0xa9, 0xa9, kImmZ);
  set(0xaa, 0xaf, kPlain);
  set(0xb0, 0xb7, kImm8);
  set(0xb8, 0xbf, kImmZ);
  set(0xc0, 0xc1, kModRm | kImm8);
  set(0xc2, 0xc2, kImm16);
  set(0xc3, 0xc3, kPlain);
  set(0xc6, 0xc6, kModRm | kImm8);
  set(0xc7, 0xc7, kModRm | kImmZ);
  set(0xc8, 0xc8, kImm16 | kImm8);
  set(0xc9, 0xc9, kPlain);
  set(0xca, 0xca, kImm16);
  set(0xcb, 0xcc, kPlain);
  set(0xcd, 0xcd, kImm8);
  set(0xcf, 0xcf, kPlain);
  set(0xd0, 0xd3, kModRm);
  set(0xd7, 0xd7, kPlain);
  set(0xd8, 0xdf, kModRm);
  set(0xe0, 0xe7, kImm8);
  set(0xe8, 0xe9, kRel32);
  set(0xeb, 0xeb, kImm8);
  set(0xec, 0xef, kPlain);
  set(0xf1, 0xf1, kPlain);
  set(0xf4, 0xf5, kPlain);
  set(0xf6, 0xf7, kModRm);
  set(0xf8, 0xfd, kPlain);
  set(0xfe, 0xff, kModRm);
  return forms;
}

constexpr std::array<uint8_t, 256> MakeTwoByteForms() {
  std::array<uint8_t, 256> forms{};
  const auto set = [&forms](int first, int last, uint8_t form) {
    for (int i = first; i <= last; ++i) forms[static_cast<size_t>(i)] = form;
  };
  set(0x00, 0x03, kModRm);
  set(0x05, 0x09, kPlain);
  set(0x0b, 0x0b, kPlain);
  set(0x0d, 0x0d, kModRm);
  set(0x0e, 0x0e, kPlain);
  set(0x0f, 0x0f, kModRm | kImm8);
  set(0x10, 0x23, kModRm);
  set(0x28, 0x2f, kModRm);
  set(0x30, 0x35, kPlain);
  set(0x37, 0x37, kPlain);
  set(0x40, 0x6f, kModRm);
  set(0x70, 0x73, kModRm | kImm8);
  set(0x74, 0x76, kModRm);
  set(0x77, 0x77, kPlain);
  set(0x78, 0x7f, kModRm);
  set(0x80, 0x8f, kRel32);
  set(0x90, 0x9f, kModRm);
  set(0xa0, 0xa2, kPlain);
  set(0xa3, 0xa3, kModRm);
  set(0xa4, 0xa4, kModRm | kImm8);
  set(0xa5, 0xa5, kModRm);
  set(0xa8, 0xaa, kPlain);
  set(0xab, 0xab, kModRm);
  set(0xac, 0xac, kModRm | kImm8);
  set(0xad, 0xb9, kModRm);
  set(0xba, 0xba, kModRm | kImm8);
  set(0xbb, 0xc1, kModRm);
  set(0xc2, 0xc2, kModRm | kImm8);
  set(0xc3, 0xc3, kModRm);
  set(0xc4, 0xc6, kModRm | kImm8);
  set(0xc7, 0xc7, kModRm);
  set(0xc8, 0xcf, kPlain);
  set(0xd0, 0xff, kModRm);
  return forms;
}

constexpr std::array<uint8_t, 256> kOneByte = MakeOneByteForms(), kTwoByte = MakeTwoByteForms();

class Decoder {
 public:
  Decoder(std::span<const uint8_t> bytes, uint64_t address)
      : bytes_(bytes.first(std::min(bytes.size(), kMaxInstructionBytes))), address_(address) {}

  X86Instruction Decode() {
    ReadPrefixes();
    if (!ReadOpcode()) return {};
    if ((form_ & kModRm) != 0) ReadModRm();
    ReadImmediate();
    if (!ok_ || at_ > bytes_.size()) return {};
    out_.length = static_cast<uint8_t>(at_);
    if (!vector_) Interpret();
    return out_;
  }

 private:
  uint8_t Byte() {
    if (at_ >= bytes_.size()) {
      ok_ = false;
      return 0;
    }
    return bytes_[at_++];
  }
  int64_t Signed(int count) {
    uint64_t value = 0;
    for (int i = 0; i < count; ++i) value |= uint64_t{Byte()} << 8 * i;
    const int unused = 64 - 8 * count;
    return static_cast<int64_t>(value << unused) >> unused;
  }

  void ReadPrefixes() {
    for (;; ++at_) {
      if (at_ >= bytes_.size()) return;
      switch (bytes_[at_]) {
        case 0x66: operand16_ = true; continue;
        case 0x67: address32_ = true; continue;
        case 0x26:
        case 0x2e:
        case 0x36:
        case 0x3e:
        case 0x64:
        case 0x65:
        case 0xf0: continue;
        case 0xf2:
        case 0xf3: repeat_ = true; continue;
        default: break;
      }
      break;
    }
    if ((bytes_[at_] & 0xf0) == 0x40) rex_ = bytes_[at_++];
  }

  // VEX and EVEX name the map that the opcode is of; all of their opcodes but vzeroupper have a
  // ModRM byte.
  bool ReadVector(int map, size_t skipped) {
    vector_ = true;
    at_ += skipped;
    opcode_ = Byte();
    form_ = kModRm;
    if (map == 3 || (map == 1 && (kTwoByte[opcode_] & kImm8) != 0)) form_ |= kImm8;
    if (map == 1 && opcode_ == 0x77) form_ = kPlain;
    return ok_;
  }

  bool ReadOpcode() {
    opcode_ = Byte();
    if (!ok_) return false;
    const uint8_t next = at_ < bytes_.size() ? bytes_[at_] : 0;
    if (opcode_ == 0xc5) return ReadVector(1, 1);
    if (opcode_ == 0xc4) return ReadVector(next & 31, 2);
    if (opcode_ == 0x62) return ReadVector(next & 7, 3);
    if (opcode_ != 0x0f) {
      form_ = kOneByte[opcode_];
      if (opcode_ >= 0xa0 && opcode_ <= 0xa3) {  // An address of 8 bytes, 4 with the prefix 67.
        at_ += address32_ ? 4 : 8;
        form_ = kPlain;
      }
      return form_ != kBad;
    }
    two_byte_ = true;
    opcode_ = Byte();
    if (opcode_ == 0x38 || opcode_ == 0x3a) {
      vector_ = true;  // None of these touches rsp or rbp in a way that matters.
      form_ = opcode_ == 0x38 ? kModRm : kModRm | kImm8;
      Byte();
      return ok_;
    }
    form_ = kTwoByte[opcode_];
    return ok_ && form_ != kBad;
  }

  void ReadModRm() {
    const uint8_t modrm = Byte();
    mod_ = modrm >> 6;
    reg_ = static_cast<uint8_t>((modrm >> 3 & 7) | (rex_ & 4) << 1);
    rm_ = static_cast<uint8_t>((modrm & 7) | (rex_ & 1) << 3);
    if (!two_byte_ && !vector_ && (opcode_ & 0xfe) == 0xf6 && (modrm >> 3 & 7) < 2)
      form_ |= opcode_ == 0xf6 ? kImm8 : kImmZ;
    if (mod_ == 3) return;
    base_ = rm_;
    bool no_base = mod_ == 0 && (modrm & 7) == 5;  // rip-relative.
    if ((modrm & 7) == 4) {
      const uint8_t sib = Byte();
      base_ = static_cast<uint8_t>((sib & 7) | (rex_ & 1) << 3);
      indexed_ = (sib >> 3 & 7) != 4 || (rex_ & 2) != 0;
      no_base = mod_ == 0 && (sib & 7) == 5;
    }
    if (mod_ == 1) displacement_ = Signed(1);
    if (mod_ == 2 || no_base) displacement_ = Signed(4);
    if (no_base) base_ = 255;
    out_.below_rbp = base_ == kRbp && displacement_ < 0;
  }

  void ReadImmediate() {
    if ((form_ & kImm16) != 0) Signed(2);
    if ((form_ & kImm8) != 0) immediate_ = Signed(1);
    if ((form_ & kRel32) != 0) immediate_ = Signed(4);
    if ((form_ & kImmZ) == 0) return;
    const bool wide = (rex_ & 8) != 0;
    const bool move = !two_byte_ && opcode_ >= 0xb8 && opcode_ <= 0xbf;
    immediate_ = Signed(move && wide ? 8 : operand16_ && !wide ? 2 : 4);
  }

  uint64_t Target() const { return address_ + at_ + static_cast<uint64_t>(immediate_); }
  void Flow(FlowEffect flow, bool has_target = false) {
    out_.flow = flow;
    if (has_target) out_.target = Target();
  }
  void Stack(StackEffect effect, int64_t value = 0) {
    out_.stack = effect;
    out_.value = value;
  }
  void StackReg(StackEffect effect, uint8_t reg, int64_t value = 0) {
    Stack(effect, value);
    out_.reg = reg;
  }
  // `reg` is written.
  void Written(uint8_t reg) {
    out_.written = reg;
    if (out_.stack != StackEffect::kNone) return;
    if (reg == kRsp) Stack(StackEffect::kLoseRsp);
    if (reg == kRbp) Stack(StackEffect::kLoseRbp);
  }

  void Interpret() {
    if (two_byte_)
      InterpretTwoByte();
    else
      InterpretOneByte();
  }

  void InterpretTwoByte() {
    if (opcode_ == 0x0b || opcode_ == 0xb9 || opcode_ == 0xff) Flow(FlowEffect::kStop);  // ud
    if (opcode_ >= 0x80 && opcode_ <= 0x8f) Flow(FlowEffect::kBranch, true);
    out_.padding = opcode_ == 0x1f;
    if (opcode_ == 0xa0 || opcode_ == 0xa8) Stack(StackEffect::kMoveRsp, -8);  // push fs, gs
    if (opcode_ == 0xa1 || opcode_ == 0xa9) Stack(StackEffect::kMoveRsp, 8);
    const bool to_reg = (opcode_ >= 0x40 && opcode_ <= 0x4f) || opcode_ == 0xaf ||
                        (opcode_ >= 0xb6 && opcode_ <= 0xb8) ||
                        (opcode_ >= 0xbc && opcode_ <= 0xbf);
    if (to_reg) Written(reg_);
    if (opcode_ >= 0x90 && opcode_ <= 0x9f && mod_ == 3 && (rex_ != 0 || rm_ < 4)) Written(rm_);
  }

  void InterpretOneByte() {
    const uint8_t op = opcode_;
    if (op >= 0x50 && op <= 0x57) return Push(static_cast<uint8_t>((op & 7) | (rex_ & 1) << 3));
    if (op >= 0x58 && op <= 0x5f) return Pop(static_cast<uint8_t>((op & 7) | (rex_ & 1) << 3));
    if (op >= 0xb8 && op <= 0xbf) return Written(static_cast<uint8_t>((op & 7) | (rex_ & 1) << 3));
    if (op >= 0x91 && op <= 0x97) return Written(static_cast<uint8_t>((op & 7) | (rex_ & 1) << 3));
    if (op >= 0x70 && op <= 0x7f) return Flow(FlowEffect::kBranch, true);
    if (op >= 0xe0 && op <= 0xe3) return Flow(FlowEffect::kBranch, true);
    switch (op) {
      case 0x68:
      case 0x6a:
      case 0x9c: return Stack(StackEffect::kMoveRsp, -8);
      case 0x9d: return Stack(StackEffect::kMoveRsp, 8);
      case 0x8f: return Stack(StackEffect::kMoveRsp, 8);
      case 0x90: out_.padding = !repeat_; return;
      case 0xcc: out_.padding = out_.trap = true; return Flow(FlowEffect::kStop);
      case 0xf4: return Flow(FlowEffect::kStop);
      case 0xc2:
      case 0xc3:
      case 0xca:
      case 0xcb:
      case 0xcf: return Flow(FlowEffect::kReturn);
      case 0xc8: return Stack(StackEffect::kLoseRsp);
      case 0xc9: return Stack(StackEffect::kLeave);
      case 0xe8: return Flow(FlowEffect::kCall, true);
      case 0xe9:
      case 0xeb: return Flow(FlowEffect::kJump, true);
      case 0xff: return InterpretGroup5();
      case 0x89: return Move(rm_, reg_, mod_ == 3);
      case 0x8b: return Move(reg_, rm_, mod_ == 3);
      case 0x8d: return LoadAddress();
      case 0x81:
      case 0x83: return InterpretGroup1();
      case 0x31:
      case 0x33:
        if (mod_ == 3 && reg_ == kRbp && rm_ == kRbp) return Stack(StackEffect::kClearRbp);
        break;
      default: break;
    }
    InterpretArithmetic();
  }

  void InterpretArithmetic() {
    const uint8_t op = opcode_;
    const bool compares = (op & 0xf8) == 0x38 || op == 0x84 || op == 0x85;
    if (op < 0x40 && !compares) {
      if ((op & 7) == 1 && mod_ == 3) Written(rm_);
      if ((op & 7) == 3) Written(reg_);
    }
    if (op == 0x63 || op == 0x69 || op == 0x6b) Written(reg_);
    if ((op == 0x87 || op == 0xc7 || op == 0xc1 || op == 0xd1 || op == 0xd3) && mod_ == 3)
      Written(rm_);
    if (op == 0x87) Written(reg_);
    if (op == 0xf7 && mod_ == 3 && ((reg_ & 7) == 2 || (reg_ & 7) == 3)) Written(rm_);
  }

  void Push(uint8_t reg) {
    if (reg == kRbp) return Stack(StackEffect::kPushRbp);
    StackReg(StackEffect::kMoveRsp, reg, -8);
  }
  void Pop(uint8_t reg) {
    if (reg == kRbp) return Stack(StackEffect::kPopRbp);
    if (reg == kRsp) return Stack(StackEffect::kLoseRsp);
    out_.written = reg;
    Stack(StackEffect::kMoveRsp, 8);
  }

  void InterpretGroup5() {
    switch (reg_ & 7) {
      case 0:
      case 1:
        if (mod_ == 3) Written(rm_);
        return;
      case 2:
      case 3: return Flow(FlowEffect::kCall);
      case 4:
        if (mod_ == 3) out_.reg = rm_;
        return Flow(FlowEffect::kIndirectJump);
      case 5: return Flow(FlowEffect::kIndirectJump);
      case 6: return Stack(StackEffect::kMoveRsp, -8);
      default: return;
    }
  }

  // add, sub and others with a constant.
  void InterpretGroup1() {
    if (mod_ != 3 || (reg_ & 7) == 7) return;
    const bool wide = (rex_ & 8) != 0;
    if (rm_ == kRsp && wide && (reg_ & 7) == 0) return Stack(StackEffect::kMoveRsp, immediate_);
    if (rm_ == kRsp && wide && (reg_ & 7) == 5) return Stack(StackEffect::kMoveRsp, -immediate_);
    if (rm_ == kRsp && wide && (reg_ & 7) == 4) return Stack(StackEffect::kAlignRsp);
    Written(rm_);
  }

  // `to` = `from`; one of them may be memory.
  void Move(uint8_t to, uint8_t from, bool registers) {
    const bool wide = (rex_ & 8) != 0, at_rsp = base_ == kRsp && !indexed_;
    if (registers) {
      if (wide && to == kRbp && from == kRsp) return Stack(StackEffect::kSetRbp);
      if (wide && to == kRsp && from == kRbp) return Stack(StackEffect::kSetRsp);
      if (wide && from == kRsp) StackReg(StackEffect::kCopyRsp, to);
      if (wide && to == kRsp) StackReg(StackEffect::kRspFromReg, from);
      return Written(to);
    }
    if (opcode_ == 0x89) {
      if (wide && from == kRbp && at_rsp) Stack(StackEffect::kStoreRbp, displacement_);
      if (wide && from != kRbp && at_rsp) StackReg(StackEffect::kStoreReg, from, displacement_);
      return;
    }
    if (wide && to == kRbp && at_rsp) return Stack(StackEffect::kLoadRbp, displacement_);
    if (wide && to == kRbp && base_ == kRbp && !indexed_)
      return Stack(StackEffect::kFollowRbp, displacement_);
    if (wide && at_rsp)
      Stack(to == kRsp ? StackEffect::kLoadRsp : StackEffect::kLoadReg, displacement_);
    Written(to);
  }

  void LoadAddress() {
    if ((rex_ & 8) != 0 && !indexed_) {
      if (reg_ == kRsp && base_ == kRsp) return Stack(StackEffect::kMoveRsp, displacement_);
      if (reg_ == kRsp && base_ == kRbp) return Stack(StackEffect::kSetRsp, displacement_);
      if (reg_ == kRbp && base_ == kRsp) return Stack(StackEffect::kSetRbp, displacement_);
    }
    Written(reg_);
  }

  const std::span<const uint8_t> bytes_;
  const uint64_t address_;
  X86Instruction out_;
  size_t at_ = 0;
  bool ok_ = true, operand16_ = false, address32_ = false, repeat_ = false, two_byte_ = false;
  bool vector_ = false, indexed_ = false;
  uint8_t rex_ = 0, opcode_ = 0, form_ = 0, mod_ = 0, reg_ = 255, rm_ = 255, base_ = 255;
  int64_t displacement_ = 0, immediate_ = 0;
};

}  // namespace

X86Instruction DecodeX86(std::span<const uint8_t> bytes, uint64_t address) {
  return Decoder(bytes, address).Decode();
}

}  // namespace stackray::cfi
