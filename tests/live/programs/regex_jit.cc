// Matches a pattern over and over by the code that PCRE2's JIT made of it: code in memory of no
// file, without unwind tables and without
// frame pointers. Usage: regex_jit PATTERN   The library is found at run time and used without its
// headers. Exit code 77: it is missing, or has no JIT.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace {

constexpr int kSkipped = 77;
constexpr uint32_t kJitComplete = 1;            // PCRE2_JIT_COMPLETE
constexpr size_t kZeroTerminated = ~size_t{0};  // PCRE2_ZERO_TERMINATED

using Match = int(void*, const char*, size_t, size_t, uint32_t, void*, void*);
Match* g_match;
void *g_code, *g_data;
int64_t g_sum;

template <typename Function>
Function* Find(void* library, const char* name) {
  void* found = dlsym(library, name);
  if (found == nullptr) exit(kSkipped);
  return reinterpret_cast<Function*>(found);
}

// Their frames are still needed after the calls.
extern "C" __attribute__((noinline)) int MatchOnce(const std::string& text) {
  const int result = g_match(g_code, text.data(), text.size(), 0, 0, g_data, nullptr);
  g_sum += result;
  return result;
}

extern "C" __attribute__((noinline)) void MatchMany(const std::string& text) {
  for (int i = 0; i < 100; ++i) g_sum += MatchOnce(text);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  void* library = dlopen("libpcre2-8.so.0", RTLD_NOW);
  if (library == nullptr) return kSkipped;
  int error = 0;
  size_t offset = 0;
  g_code = Find<void*(const char*, size_t, uint32_t, int*, size_t*, void*)>(
      library, "pcre2_compile_8")(argv[1], kZeroTerminated, 0, &error, &offset, nullptr);
  if (g_code == nullptr) return 2;
  if (Find<int(void*, uint32_t)>(library, "pcre2_jit_compile_8")(g_code, kJitComplete) != 0)
    return kSkipped;
  g_data =
      Find<void*(void*, void*)>(library, "pcre2_match_data_create_from_pattern_8")(g_code, nullptr);
  g_match = Find<Match>(library, "pcre2_match_8");
  std::string text(3000, 'a');
  for (size_t i = 20; i < text.size(); i += 20) text[i] = ' ';
  for (;;) MatchMany(text);
}
