// libs: stackray_interpreters
// Where any file says that a thread-local variable is, and what a process whose memory says
// anything makes of it.
#include <elf.h>

#include <cstdint>
#include <cstdlib>
#include <span>

#include "interpreters/thread_context/go_labels.h"
#include "interpreters/thread_context/tls_place.h"
#include "interpreters/thread_context/tls_variable.h"
#include "tests/fuzz/input_memory.h"

namespace {

void Check(const stackray::TlsPlace& place) {
  constexpr int64_t kFarthest = int64_t{1} << 30;
  if (place.place.offset >= kFarthest || place.place.offset <= -kFarthest) std::abort();
  if (place.place.in_module == 0) return;
  if (place.place.module == 0 || place.place.offset < 0) std::abort();
  if (place.place.entry_bytes != 8 && place.place.entry_bytes != 16) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const uint8_t> bytes(data, size);
  const stackray::MemorySource source(bytes);
  const auto image = stackray::ElfImage::Create(source);
  if (!image.ok()) return 0;
  stackray::FindGoLabels(*image, source).IgnoreError();
  stackray::InputMemory memory(bytes, stackray::kMostAddress);
  for (const bool is_program : {false, true}) {
    for (const char* name : {"otel_thread_ctx_v1", "errno", ""}) {
      const auto variable =
          stackray::FindTlsVariable(*image, source, name, is_program, stackray::TlsSymbols::kAll);
      if (!variable.ok()) continue;
      for (const uint16_t machine : {EM_X86_64, EM_AARCH64}) {
        for (const auto library : {stackray::CLibrary::kGlibc, stackray::CLibrary::kMusl}) {
          const auto place = stackray::ResolveTls(*variable, 0x1000, machine, library, memory);
          if (place.ok()) Check(*place);
        }
      }
    }
  }
  return 0;
}
