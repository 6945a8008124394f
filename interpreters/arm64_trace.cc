#include "interpreters/arm64_trace.h"

#include <algorithm>
#include <array>

#include "interpreters/process_memory.h"

namespace stackray {
namespace {

using Base = Arm64Value::Base;

constexpr size_t kRegisters = 31, kCallClobbered = 19;  // x0 to x18.
constexpr uint32_t kNoRegister = 31;                    // sp, or zero.
constexpr int kMostDepth = 2;

// Bits `low` to `low + count - 1`.
constexpr uint32_t Bits(uint32_t word, uint32_t low, uint32_t count) {
  return word >> low & ((1u << count) - 1);
}

constexpr int64_t Signed(uint32_t value, uint32_t bits) {
  const int64_t sign = int64_t{1} << (bits - 1);
  return (int64_t{value} ^ sign) - sign;
}

Arm64Value Constant(uint64_t number) { return {.base = Base::kConstant, .number = number}; }

Arm64Value Plus(Arm64Value value, uint64_t number) {
  if (value.is(Base::kUnknown) || value.is(Base::kBits)) return {};
  value.number += number;
  return value;
}

Arm64Value Sum(const Arm64Value& a, const Arm64Value& b) {
  if (a.is(Base::kConstant)) return Plus(b, a.number);
  if (b.is(Base::kConstant)) return Plus(a, b.number);
  if (b.is(Base::kThread)) return a.is(Base::kThread) ? Arm64Value{} : Sum(b, a);
  if (!a.is(Base::kThread)) return {};
  Arm64Value sum = Plus(b, a.number);
  if (b.is(Base::kLoaded))
    sum.base = Base::kThreadLoaded;
  else if (b.is(Base::kDescriptor))
    sum.base = Base::kThreadDescriptor;
  else
    return {};
  return sum;
}

class Tracer {
 public:
  Tracer(const ReadCodeAt& read, int depth, Arm64Trace* trace)
      : read_(read), depth_(depth), trace_(trace) {}

  void SetArguments(const Arm64Value& first, const Arm64Value& second) {
    registers_[0] = first;
    registers_[1] = second;
  }

  // What x0 holds at the end.
  Arm64Value Run(uint64_t function) {
    at_ = function;
    for (size_t i = 0; i < kMostTraced; ++i) {
      if (i % kAtOnce == 0 || jumped_) Fetch();
      const size_t offset = at_ - code_at_;
      if (offset + 4 > code_.size()) return {};
      const auto word = NumberAt<uint32_t>(code_, offset);
      at_ += 4;
      if (!Step(word)) return registers_[0];
    }
    return {};
  }

 private:
  static constexpr size_t kAtOnce = 16;

  void Fetch() {
    jumped_ = false;
    code_at_ = at_;
    code_ = read_(at_, kAtOnce * 4);
  }

  Arm64Value Get(uint32_t number) const {
    return number < kRegisters ? registers_.at(number) : Arm64Value{};
  }
  void Set(uint32_t number, const Arm64Value& value) {
    if (number < kRegisters) registers_.at(number) = value;
  }

  Arm64Value Load(const Arm64Value& address, uint32_t bytes) {
    if (address.is(Base::kUnknown)) return {};
    trace_->loads.push_back({.address = address, .bytes = bytes});
    return {.base = Base::kLoaded, .load = trace_->loads.size() - 1};
  }

  void ForgetCallClobbered() {
    for (size_t i = 0; i < kCallClobbered; ++i) registers_.at(i) = {};
  }

  // Follows a function that is called, where its code is at hand; else its result is not known.
  void Call(uint64_t target) {
    if (depth_ == 0) trace_->calls.push_back({.target = target, .first = Get(0), .second = Get(1)});
    Arm64Value result;
    if (depth_ + 1 < kMostDepth) {
      Tracer called(read_, depth_ + 1, trace_);
      called.SetArguments(Get(0), Get(1));
      result = called.Run(target);
    }
    ForgetCallClobbered();
    Set(0, result);
  }

  // Through a register: the function of a TLS descriptor changes x0 alone.
  void CallRegister(uint32_t number) {
    const Arm64Value function = Get(number), argument = Get(0);
    if (function.is(Base::kLoaded) && argument.is(Base::kConstant)) {
      const Arm64Value& from = trace_->loads[function.load].address;
      if (from.is(Base::kConstant) && from.number == argument.number) {
        Set(0, {.base = Base::kDescriptor, .descriptor = argument.number});
        return;
      }
    }
    ForgetCallClobbered();
  }

  // False: the function ends here.
  bool Step(uint32_t word) {
    if ((word & 0xfffff01f) == 0xd503201f) return true;  // nop, bti, paciasp, autiasp
    switch (Bits(word, 25, 4)) {
      case 0x8:
      case 0x9: StepImmediate(word); return true;
      case 0xa:
      case 0xb: return StepBranch(word);
      case 0x4:
      case 0x6:
      case 0xc:
      case 0xe: StepMemory(word); return true;
      case 0x5:
      case 0xd: StepRegisters(word); return true;
      case 0x7:
      case 0xf:
        Set(Bits(word, 0, 5), {});
        return true;          // Of floating point: fmov writes one of ours.
      default: return false;  // None.
    }
  }

  // Data processing with an immediate.
  void StepImmediate(uint32_t word) {
    const uint32_t to = Bits(word, 0, 5), from = Bits(word, 5, 5);
    if ((word & 0x1f000000) == 0x10000000) {  // adr, adrp
      const int64_t distance = Signed(Bits(word, 5, 19) << 2 | Bits(word, 29, 2), 21);
      const uint64_t pc = at_ - 4;
      Set(to, Constant(word >> 31 != 0
                           ? (pc & ~uint64_t{0xfff}) + static_cast<uint64_t>(distance * 4096)
                           : pc + static_cast<uint64_t>(distance)));
    } else if ((word & 0xff800000) == 0x91000000) {  // add, 64 bits
      Set(to, Plus(Get(from), uint64_t{Bits(word, 10, 12)} << (Bits(word, 22, 1) * 12)));
    } else if ((word & 0xff800000) == 0xd1000000) {  // sub
      Set(to, Plus(Get(from), -(uint64_t{Bits(word, 10, 12)} << (Bits(word, 22, 1) * 12))));
    } else if ((word & 0x7f800000) == 0x52800000) {  // movz
      Set(to, Constant(uint64_t{Bits(word, 5, 16)} << (Bits(word, 21, 2) * 16)));
    } else if ((word & 0x7f800000) == 0x53000000) {  // ubfm: lsr, ubfx
      const uint32_t low = Bits(word, 16, 6), high = Bits(word, 10, 6);
      Set(to, high >= low ? Part(Get(from), low, high - low + 1) : Arm64Value{});
    } else if ((word & 0xffc0fc00) == 0x12000000) {  // and with one bit of 32
      Set(to, Part(Get(from), (32 - Bits(word, 16, 6)) % 32, 1));
    } else {
      Set(to, {});
    }
  }

  static Arm64Value Part(const Arm64Value& of, uint32_t low, uint32_t count) {
    if (of.is(Base::kBits) && low < of.bits)
      return {.base = Base::kBits,
              .number = of.number + low,
              .load = of.load,
              .bits = std::min(count, of.bits - low)};
    if (!of.is(Base::kLoaded) || of.number != 0) return {};
    return {.base = Base::kBits, .number = low, .load = of.load, .bits = count};
  }

  // Data processing with registers.
  void StepRegisters(uint32_t word) {
    const uint32_t to = Bits(word, 0, 5), left = Bits(word, 5, 5), right = Bits(word, 16, 5);
    if ((word & 0x7fe0ffe0) == 0x2a0003e0)  // mov
      Set(to, right == kNoRegister ? Constant(0) : Get(right));
    else if ((word & 0xffe0fc00) == 0x8b000000)  // add
      Set(to, Sum(Get(left), Get(right)));
    else
      Set(to, {});
  }

  bool StepBranch(uint32_t word) {
    if ((word & 0xffffffe0) == 0xd53bd040) {  // mrs, tpidr_el0
      Set(Bits(word, 0, 5), {.base = Base::kThread});
      return true;
    }
    if (const std::optional<uint64_t> target = Arm64CallTarget(word, at_ - 4)) {
      Call(*target);
      return true;
    }
    if ((word & 0xfc000000) == 0x14000000) {  // b
      const uint64_t target = at_ - 4 + static_cast<uint64_t>(Signed(Bits(word, 0, 26), 26) * 4);
      if (depth_ == 0)
        trace_->calls.push_back(
            {.target = target, .first = Get(0), .second = Get(1), .is_last = true});
      at_ = target;
      jumped_ = true;
      return true;
    }
    if ((word & 0xfffffc1f) == 0xd63f0000) {  // blr
      CallRegister(Bits(word, 5, 5));
      return true;
    }
    if ((word & 0xfe000000) == 0xd6000000) {  // br, ret and their like
      const bool is_return = (word & 0xfffffc1f) == 0xd65f0000 ||
                             (word & 0xfffffbff) == 0xd65f0bff;  // ret, retaa, retab
      if (!is_return) Set(0, {});
      return false;
    }
    const bool is_conditional =
        (word & 0x7c000000) == 0x34000000 || (word & 0xfe000000) == 0x54000000;
    if (!is_conditional && (word & 0xffe00000) == 0xd5200000) Set(Bits(word, 0, 5), {});  // mrs
    return is_conditional || (word & 0xff000000) == 0xd5000000;
  }

  // Loads and stores. A store changes nothing here: what such a function reads it has not written.
  void StepMemory(uint32_t word) {
    const uint32_t to = Bits(word, 0, 5), base = Bits(word, 5, 5), size = word >> 30;
    const bool is_vector = Bits(word, 26, 1) != 0;
    const uint32_t bytes = 1u << size;
    if ((word & 0x3a000000) == 0x28000000) {  // pairs
      if (Bits(word, 23, 1) != 0) Set(base, {});
      if (Bits(word, 22, 1) != 0 && !is_vector) {
        Set(to, {});
        Set(Bits(word, 10, 5), {});
      }
      return;
    }
    const bool is_load = Bits(word, 22, 2) != 0;
    if ((word & 0x3b000000) == 0x39000000) {  // an offset without a sign
      const bool is_plain = Bits(word, 22, 2) == 1 && !is_vector;
      const Arm64Value address = Plus(Get(base), uint64_t{Bits(word, 10, 12)} << size);
      if (is_load && !is_vector) Set(to, is_plain ? Load(address, bytes) : Arm64Value{});
      return;
    }
    if ((word & 0xffe0fc00) == 0xf8606800) {  // two registers
      Set(to, Load(Sum(Get(base), Get(Bits(word, 16, 5))), bytes));
      return;
    }
    if ((word & 0xffe00c00) == 0xf8400000) {  // an offset with a sign
      Set(to, Load(Plus(Get(base), static_cast<uint64_t>(Signed(Bits(word, 12, 9), 9))), bytes));
      return;
    }
    if ((word & 0xbffffc00) == 0x88dffc00 || (word & 0xbffffc00) == 0xb8bfc000) {  // ldar, ldapr
      Set(to, Load(Get(base), bytes));
      return;
    }
    if ((word & 0x3b200400) == 0x38000400) Set(base, {});  // The base changes too.
    if (!is_vector) Set(to, {});
  }

  const ReadCodeAt& read_;
  const int depth_;
  Arm64Trace* trace_;
  std::array<Arm64Value, kRegisters> registers_;
  std::vector<uint8_t> code_;
  uint64_t code_at_ = 0, at_ = 0;
  bool jumped_ = false;
};

}  // namespace

std::optional<uint64_t> Arm64CallTarget(uint32_t instruction, uint64_t address) {
  if ((instruction & 0xfc000000) != 0x94000000) return std::nullopt;
  return address + static_cast<uint64_t>(Signed(Bits(instruction, 0, 26), 26) * 4);
}

Arm64Trace TraceArm64(const ReadCodeAt& read, uint64_t function) {
  Arm64Trace trace;
  trace.result = Tracer(read, 0, &trace).Run(function);
  return trace;
}

}  // namespace stackray
