#include "symbolizer/demangle.h"

#include <libiberty/demangle.h>

#include <csetjmp>
#include <utility>

namespace stackray {
namespace {

constexpr size_t kMaxMangledBytes = 16 << 10;
constexpr size_t kMaxDemangledBytes = 64 << 10;

// c++filt's own options. DMGL_VERBOSE spells std::string out and keeps Rust's hashes, as it does.
constexpr int kOptions = DMGL_PARAMS | DMGL_ANSI | DMGL_VERBOSE;

struct Output {
  std::string text;
  jmp_buf too_long;
};

extern "C" void AppendDemangled(const char* piece, size_t size, void* opaque) {
  Output* output = static_cast<Output*>(opaque);
  if (size > kMaxDemangledBytes - output->text.size()) longjmp(output->too_long, 1);
  output->text.append(piece, size);
}

// The only way to stop the library's printing early is to leave it: refusing the output would not
// end the loop that makes it. Nothing between setjmp and longjmp has a destructor, and the library
// holds no memory of the heap there (but a Rust identifier in punycode, which is then lost).
bool Run(const char* mangled, Output* output) {
  if (setjmp(output->too_long) != 0) return false;
  if (rust_demangle_callback(mangled, kOptions, AppendDemangled, output) != 0) return true;
  output->text.clear();
  return cplus_demangle_v3_callback(mangled, kOptions, AppendDemangled, output) != 0;
}

}  // namespace

std::string Demangle(std::string_view name) {
  name = name.substr(0, name.find('\0'));
  if (name.size() > kMaxMangledBytes) return std::string(name);
  if (name.size() < 3 || name[0] != '_') return std::string(name);  // "_Z", "_R", "_GLOBAL_".
  std::string mangled(name);
  Output output;
  if (!Run(mangled.c_str(), &output) || output.text.empty()) return mangled;
  return std::move(output.text);
}

}  // namespace stackray
