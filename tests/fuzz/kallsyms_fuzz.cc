// libs: stackray_kernel_symbols
// /proc/kallsyms and /proc/modules from any bytes, in pieces of any size.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

#include "kernel/kallsyms.h"
#include "kernel/kernel_modules.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const stackray::KernelModule& module : stackray::ParseModules(text))
    if (module.start == 0 || module.start + module.size_bytes < module.start) std::abort();
  // With a _text in front every input reaches the table.
  stackray::Kallsyms::Builder builder;
  builder.Add("ffffffff81000000 T _text\n");
  const size_t piece = size == 0 ? 1 : std::max<size_t>(data[0], 1);
  for (size_t at = 0; at < size; at += piece) builder.Add(text.substr(at, piece));
  const absl::StatusOr<stackray::Kallsyms> table = std::move(builder).Finish();
  if (!table.ok()) std::abort();
  for (size_t i = 0; i < table->size(); ++i) {
    const uint64_t start = table->start(i);
    if (table->IndexAt(start) != i || table->end(i) <= start) std::abort();
    if (table->name(i).empty() || table->module(i).size() > size) std::abort();
  }
  return 0;
}
