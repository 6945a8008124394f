#include <optional>

#include "bpf/shared/ruby.h"
#include "interpreters/arm64_trace.h"
#include "interpreters/ruby/accessors.h"

namespace stackray {
namespace {

using Base = Arm64Value::Base;

// The load that the address counts from, if it counts from one.
const Arm64Load* LoadBehind(const Arm64Trace& trace, const Arm64Value& address) {
  return address.is(Base::kLoaded) ? &trace.loads[address.load] : nullptr;
}

}  // namespace

std::optional<ContextAccess> ReadArm64ContextAccess(const ReadCodeAt& read, uint64_t function) {
  const Arm64Trace trace = TraceArm64(read, function);
  for (const Arm64Load& load : trace.loads) {
    const Arm64Value& at = load.address;
    const auto number = static_cast<int64_t>(at.number);
    if (at.is(Base::kThread)) return ContextAccess{.kind = RUBY_CONTEXT_STATIC, .offset = number};
    if (at.is(Base::kThreadDescriptor))
      return ContextAccess{
          .kind = RUBY_CONTEXT_DESCRIPTOR, .address = at.descriptor, .offset = number};
    if (at.is(Base::kThreadLoaded) && number == 0) {
      const Arm64Value& slot = trace.loads[at.load].address;
      if (slot.is(Base::kConstant))
        return ContextAccess{.kind = RUBY_CONTEXT_SLOT, .address = slot.number};
    }
  }
  if (trace.loads.empty() || !trace.loads.front().address.is(Base::kConstant)) return std::nullopt;
  // A variable for all threads; where what it holds is read at once, and is no structure, it holds
  // the variable's address.
  const bool is_indirect = trace.loads.size() > 1 && trace.loads[1].address.is(Base::kLoaded) &&
                           trace.loads[1].address.load == 0 && trace.loads[1].address.number == 0;
  return ContextAccess{.kind = RUBY_CONTEXT_GLOBAL,
                       .address = trace.loads.front().address.number,
                       .is_indirect = is_indirect};
}

std::optional<CollectorAccess> ReadArm64CollectorAccess(const ReadCodeAt& read, uint64_t function) {
  const Arm64Trace trace = TraceArm64(read, function);
  if (!trace.result.is(Base::kBits) || trace.result.bits != 1) return std::nullopt;
  const Arm64Value& flags = trace.loads[trace.result.load].address;
  const Arm64Load* space = LoadBehind(trace, flags);
  const Arm64Load* vm = space == nullptr ? nullptr : LoadBehind(trace, space->address);
  if (vm == nullptr) return std::nullopt;
  const Arm64Load* slot = LoadBehind(trace, vm->address);
  const Arm64Value& variable =
      slot != nullptr && vm->address.number == 0 ? slot->address : vm->address;
  if (!variable.is(Base::kConstant)) return std::nullopt;
  const auto bit = static_cast<uint32_t>(trace.result.number);
  return CollectorAccess{.vm_address = variable.number,
                         .is_indirect = slot != nullptr,
                         .vm_objspace = static_cast<uint32_t>(space->address.number),
                         .flags = static_cast<uint32_t>(flags.number) + bit / 8,
                         .mask = 1u << bit % 8};
}

std::optional<uint64_t> ReadArm64SymbolsAccess(const ReadCodeAt& read, uint64_t function) {
  const Arm64Trace trace = TraceArm64(read, function);
  for (const Arm64Call& call : trace.calls) {
    // A table and a function.
    const Arm64Load* table = call.first.number == 0 ? LoadBehind(trace, call.first) : nullptr;
    if (table != nullptr && table->address.is(Base::kConstant) && call.second.is(Base::kConstant) &&
        call.second.number != 0)
      return table->address.number;
  }
  return std::nullopt;
}

}  // namespace stackray
