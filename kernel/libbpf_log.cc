#include "kernel/libbpf_log.h"

#include <bpf/libbpf.h>

#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <utility>

namespace stackray {
namespace {

constexpr size_t kMostBytes = 64 << 10;

thread_local std::string* g_text = nullptr;

int Keep(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG || g_text == nullptr) return 0;
  char line[1024];
  vsnprintf(line, sizeof(line), format, arguments);
  if (g_text->size() < kMostBytes) g_text->append(line);
  return 0;
}

}  // namespace

LibbpfLog::LibbpfLog() : before_(std::exchange(g_text, &text_)) {
  static std::once_flag once;
  std::call_once(once, [] { libbpf_set_print(Keep); });
}

LibbpfLog::~LibbpfLog() { g_text = before_; }

}  // namespace stackray
