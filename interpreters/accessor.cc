#include "interpreters/accessor.h"

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
      // Behind the call the general model has the variable's address, the local one its module's block.
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

}  // namespace stackray
