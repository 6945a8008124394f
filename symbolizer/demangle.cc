#include "symbolizer/demangle.h"

#include <libiberty/demangle.h>

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "symbolizer/swift/swift_demangle.h"

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

// D's: "_D" and a length, or "_Dmain". The library's printing cannot be stopped, so what it may be
// given is bounded: with 24 back references a name grows 6,561 times at most.
std::string DemangleD(const std::string& mangled) {
  constexpr size_t kMaxBytes = 1024;
  constexpr ptrdiff_t kMaxReferences = 24;
  if (mangled.size() > kMaxBytes ||
      std::count(mangled.begin(), mangled.end(), 'Q') > kMaxReferences)
    return mangled;
  const std::unique_ptr<char, decltype(&free)> text(dlang_demangle(mangled.c_str(), kOptions),
                                                    free);
  if (text == nullptr || *text == '\0' || strlen(text.get()) > kMaxDemangledBytes) return mangled;
  return text.get();
}

int HexDigit(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// OCaml's: "caml", the module with "__" for dots, "$xx" for what is no letter (asmcomp/ and emitaux
// of OCaml 4.08 to 5.3; from 5.1 on the last separator is a dot).
std::string DemangleOcaml(std::string_view mangled) {
  std::string text;
  for (size_t i = 4; i < mangled.size(); ++i) {
    const std::string_view rest = mangled.substr(i);
    if (rest.starts_with("__") && i + 2 < mangled.size()) {
      text += '.';
      ++i;
    } else if (rest.size() > 2 && rest[0] == '$' && HexDigit(rest[1]) >= 0 &&
               HexDigit(rest[2]) >= 0) {
      text += static_cast<char>(HexDigit(rest[1]) * 16 + HexDigit(rest[2]));
      i += 2;
    } else {
      text += rest[0];
    }
  }
  return text;
}

bool IsOcaml(std::string_view name) {
  return name.size() > 5 && name.starts_with("caml") && name[4] >= 'A' && name[4] <= 'Z';
}

bool IsD(std::string_view name) {
  return name == "_Dmain" || (name.starts_with("_D") && name[2] >= '1' && name[2] <= '9');
}

}  // namespace

std::string Demangle(std::string_view name) {
  name = name.substr(0, name.find('\0'));
  if (name.size() > kMaxMangledBytes) return std::string(name);
  if (IsOcaml(name)) return DemangleOcaml(name);
  if (IsSwift(name)) return DemangleSwift(name).value_or(std::string(name));
  if (name.size() < 3 || name[0] != '_') return std::string(name);  // "_Z", "_R", "_GLOBAL_".
  std::string mangled(name);
  if (IsD(name)) return DemangleD(mangled);
  Output output;
  if (!Run(mangled.c_str(), &output) || output.text.empty()) return mangled;
  return std::move(output.text);
}

}  // namespace stackray
