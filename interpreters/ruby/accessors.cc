#include "interpreters/ruby/accessors.h"

#include <algorithm>
#include <bit>
#include <initializer_list>

#include "bpf/shared/ruby.h"
#include "interpreters/process_memory.h"

namespace stackray {
namespace {

constexpr size_t kLookedForContext = 16, kLookedForSymbols = 160;
constexpr size_t kMostCollectorBytes = 64;

class Code {
 public:
  Code(std::span<const uint8_t> bytes, uint64_t address) : bytes_(bytes), address_(address) {}
  size_t size() const { return bytes_.size(); }
  bool IsAt(size_t at, std::initializer_list<uint8_t> pattern) const {
    return at <= bytes_.size() && pattern.size() <= bytes_.size() - at &&
           std::equal(pattern.begin(), pattern.end(), bytes_.begin() + static_cast<ptrdiff_t>(at));
  }
  uint8_t Byte(size_t at) const { return NumberAt<uint8_t>(bytes_, at); }
  int32_t Number(size_t at) const { return NumberAt<int32_t>(bytes_, at); }
  // What a 32-bit displacement that ends at `end` leads to.
  uint64_t Target(size_t end) const {
    return address_ + end + static_cast<uint64_t>(int64_t{Number(end - 4)});
  }

 private:
  std::span<const uint8_t> bytes_;
  const uint64_t address_;
};

constexpr std::initializer_list<uint8_t> kLoadRax = {0x48, 0x8b, 0x05};   // mov disp32(%rip), %rax
constexpr std::initializer_list<uint8_t> kLeaRax = {0x48, 0x8d, 0x05};    // lea disp32(%rip), %rax
constexpr std::initializer_list<uint8_t> kDerefRax = {0x48, 0x8b, 0x00};  // mov (%rax), %rax
constexpr std::initializer_list<uint8_t> kFieldRax32 = {0x48, 0x8b,
                                                        0x80};  // mov disp32(%rax), %rax
constexpr size_t kLongBytes = 7;                                // Of those with a displacement.

}  // namespace

std::optional<ContextAccess> ReadContextAccess(std::span<const uint8_t> bytes, uint64_t function) {
  const Code code(bytes, function);
  for (size_t at = 0; at < kLookedForContext && at + 16 <= code.size(); ++at) {
    if (code.IsAt(at, {0x64, 0x48, 0x8b, 0x04, 0x25}))  // mov %fs:disp32, %rax
      return ContextAccess{.kind = RUBY_CONTEXT_STATIC, .offset = code.Number(at + 5)};
    // mov $imm32, %rax; mov %fs:(%rax), %rax: the slot's distance, put there by the linker of a
    // program.
    if (code.IsAt(at, {0x48, 0xc7, 0xc0}) && code.IsAt(at + kLongBytes, {0x64, 0x48, 0x8b, 0x00}))
      return ContextAccess{.kind = RUBY_CONTEXT_STATIC, .offset = code.Number(at + 3)};
    if (code.IsAt(at, {0x48, 0x8d, 0x3d})) {  // lea disp32(%rip), %rdi
      const size_t end = at + kLongBytes;
      ContextAccess access{.kind = RUBY_CONTEXT_MODULE, .address = code.Target(end)};
      // The general model (a prefix before it) asks for the variable, the local one for its
      // module's block.
      const bool is_local = at == 0 || code.Byte(at - 1) != 0x66;
      if (is_local && code.Byte(end) == 0xe8 && code.IsAt(end + 5, kFieldRax32))
        access.offset = code.Number(end + 8);
      return access;
    }
    if (code.IsAt(at, kLoadRax)) {
      const size_t end = at + kLongBytes;
      if (code.IsAt(end, {0x64, 0x48, 0x8b, 0x00}))  // mov %fs:(%rax), %rax
        return ContextAccess{.kind = RUBY_CONTEXT_SLOT, .address = code.Target(end)};
      return ContextAccess{.kind = RUBY_CONTEXT_GLOBAL,
                           .address = code.Target(end),
                           .is_indirect = code.IsAt(end, kDerefRax)};
    }
  }
  return std::nullopt;
}

std::optional<CollectorAccess> ReadCollectorAccess(std::span<const uint8_t> bytes,
                                                   uint64_t function) {
  const Code code(bytes.first(std::min(bytes.size(), kMostCollectorBytes)), function);
  CollectorAccess access;
  for (size_t at = 0; at + kLongBytes <= code.size();) {
    if (code.IsAt(at, {0xf3, 0x0f, 0x1e, 0xfa})) {  // endbr64
      at += 4;
    } else if (access.vm_address == 0 && (code.IsAt(at, kLoadRax) || code.IsAt(at, kLeaRax))) {
      const bool is_lea = code.IsAt(at, kLeaRax);
      at += kLongBytes;
      access.vm_address = code.Target(at);
      const bool is_deref = code.IsAt(at, kDerefRax);
      if (is_lea && !is_deref) return std::nullopt;
      access.is_indirect = !is_lea && is_deref;
      if (is_deref) at += 3;
    } else if (code.IsAt(at, {0x48, 0x85, 0xc0})) {  // test %rax, %rax
      at += 3;
    } else if (code.Byte(at) == 0x74) {  // je disp8: no virtual machine
      at += 2;
    } else if (access.vm_address != 0 && access.vm_objspace == 0 && code.IsAt(at, kFieldRax32)) {
      access.vm_objspace = static_cast<uint32_t>(code.Number(at + 3));
      at += kLongBytes;
    } else if (access.vm_objspace != 0 &&
               code.IsAt(at, {0x0f, 0xb6, 0x40})) {  // movzbl disp8(%rax)
      access.flags = code.Byte(at + 3);
      if (!code.IsAt(at + 4, {0xc0, 0xe8}) || code.Byte(at + 6) > 7)
        return std::nullopt;  // shr imm8, %al
      access.mask = 1u << code.Byte(at + 6);
      return access;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

std::optional<uint64_t> ReadSymbolsAccess(std::span<const uint8_t> bytes, uint64_t function) {
  const Code code(bytes, function);
  for (size_t at = 0; at < kLookedForSymbols && at + 16 <= code.size(); ++at)
    if (code.IsAt(at, {0x48, 0x8b, 0x3d}))  // mov disp32(%rip), %rdi
      return code.Target(at + kLongBytes);
  return std::nullopt;
}

}  // namespace stackray
