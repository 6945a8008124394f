#include "interpreters/accessor.h"

#include <elf.h>

#include <algorithm>

#include "interpreters/process_memory.h"

namespace stackray {

// Encodings: Intel's manual, volume 2, and the x86-64 psABI's section on thread-local storage.
Accessed ReadAccessor(std::span<const uint8_t> code, uint64_t function) {
  constexpr uint8_t kTlsStatic[] = {0x64, 0x48, 0x8b, 0x04, 0x25};  // mov %fs:disp32, %rax
  constexpr uint8_t kTlsModule[] = {0x48, 0x8d, 0x3d};              // lea disp32(%rip), %rdi
  constexpr uint8_t kCall = 0xe8;                                   // call disp32
  constexpr uint8_t kLoadFromRax[] = {0x48, 0x8b, 0x80};            // mov disp32(%rax), %rax
  constexpr uint8_t kLoad[] = {0x48, 0x8b, 0x05};                   // mov disp32(%rip), %rax
  constexpr uint8_t kTlsFromRax[] = {0x64, 0x48, 0x8b, 0x00};       // mov %fs:(%rax), %rax
  constexpr uint8_t kLoadKey[] = {0x8b, 0x3d};                      // mov disp32(%rip), %edi
  constexpr uint8_t kJump = 0xe9;                                   // jmp disp32
  constexpr size_t kLooked = 16;
  const auto is_at = [&](size_t at, std::span<const uint8_t> pattern) {
    return at + pattern.size() + 4 <= code.size() &&
           std::equal(pattern.begin(), pattern.end(), code.begin() + static_cast<ptrdiff_t>(at));
  };
  // The 32-bit displacement that ends at `end` counts from there.
  const auto target = [&](size_t end) {
    return function + end + static_cast<uint64_t>(int64_t{NumberAt<int32_t>(code, end - 4)});
  };
  for (size_t at = 0; at < kLooked; ++at) {
    if (is_at(at, kTlsStatic))
      return {.tls_kind = PYTHON_TLS_STATIC,
              .tls_offset = NumberAt<int32_t>(code, at + sizeof(kTlsStatic))};
    if (is_at(at, kTlsModule)) {
      const size_t end = at + sizeof(kTlsModule) + 4;
      // Behind the call the general model has the variable's address, the local one its module's
      // block.
      const bool is_local = end < code.size() && code[end] == kCall && is_at(end + 5, kLoadFromRax);
      return {.tls_kind = PYTHON_TLS_MODULE,
              .address = target(end),
              .tls_offset = is_local ? NumberAt<int32_t>(code, end + 5 + sizeof(kLoadFromRax)) : 0};
    }
    if (is_at(at, kLoadKey)) {
      const size_t end = at + sizeof(kLoadKey) + 4;
      if (end < code.size() && (code[end] == kJump || code[end] == kCall))
        return {.tls_kind = PYTHON_TLS_KEY, .address = target(end)};
    }
    if (is_at(at, kLoad)) {
      const size_t end = at + sizeof(kLoad) + 4;
      Accessed accessed{.tls_kind = is_at(end, kTlsFromRax) ? PYTHON_TLS_SLOT : PYTHON_TLS_NONE,
                        .address = target(end)};
      if (is_at(end, kLoadFromRax))
        accessed.inside = NumberAt<uint32_t>(code, end + sizeof(kLoadFromRax));
      return accessed;
    }
  }
  return {};
}

Accessed ReadArm64Accessor(const ReadCodeAt& read, uint64_t function) {
  using Base = Arm64Value::Base;
  const Arm64Trace trace = TraceArm64(read, function);
  for (const Arm64Call& call : trace.calls) {  // pthread_getspecific(), mostly by its stub
    if (!call.first.is(Base::kLoaded) || call.first.number != 0) continue;
    const Arm64Load& key = trace.loads[call.first.load];
    if (key.bytes == 4 && key.address.is(Base::kConstant))
      return {.tls_kind = PYTHON_TLS_KEY, .address = key.address.number};
  }
  if (!trace.result.is(Base::kLoaded) || trace.result.number != 0) return {};
  const Arm64Value& variable = trace.loads[trace.result.load].address;
  const auto slot = [&] { return trace.loads[variable.load].address; };
  switch (variable.base) {
    case Base::kConstant: return {.address = variable.number};
    case Base::kThread:
      return {.tls_kind = PYTHON_TLS_STATIC, .tls_offset = static_cast<int64_t>(variable.number)};
    case Base::kThreadDescriptor:
      return {.tls_kind = PYTHON_TLS_DESCRIPTOR,
              .address = variable.descriptor,
              .tls_offset = static_cast<int64_t>(variable.number)};
    case Base::kThreadLoaded:
      if (!slot().is(Base::kConstant) || variable.number != 0) return {};
      return {.tls_kind = PYTHON_TLS_SLOT, .address = slot().number};
    case Base::kLoaded:
      if (!slot().is(Base::kConstant)) return {};
      return {.address = slot().number, .inside = static_cast<uint32_t>(variable.number)};
    default: return {};
  }
}

Accessed ReadAccessor(const RuntimeFile& file, std::string_view function) {
  const uint64_t address = file.AddressOf(function);
  if (file.image().machine() != EM_AARCH64)
    return ReadAccessor(file.CodeOf(function, kAccessorBytes), address);
  if (address == 0) return {};
  return ReadArm64Accessor(
      [&](uint64_t at, uint64_t size_bytes) { return file.BytesAt(at, size_bytes); }, address);
}

}  // namespace stackray
