// Mangled names → what c++filt prints: C++ (Itanium ABI), Rust (legacy and v0), D. And OCaml's,
// which c++filt does not know: its dots and operators again, with the number at its end kept, which
// tells functions of one name apart. And Swift's, as `swift-demangle --simplified` prints them
// (swift/swift_demangle.h).
#ifndef STACKRAY_SYMBOLIZER_DEMANGLE_H_
#define STACKRAY_SYMBOLIZER_DEMANGLE_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace stackray {

inline constexpr size_t kDemangleStackBytes = 1 << 20;

// The name as c++filt prints it without options; the name itself where it is not mangled, where
// c++filt refuses it (C++ names over 1,024 bytes, too deep ones), where it is over 16 KiB, or where
// the result would be over 64 KiB: hostile names double their length with every few bytes. D names
// over 1,024 bytes or with more than 24 back references come back as they are, for that reason.
// Input:   any bytes. A NUL ends the name.
// Memory:  for the call only; at most kDemangleStackBytes of stack, and that only for hostile
// names. Threads: any, at the same time.
std::string Demangle(std::string_view name);

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_DEMANGLE_H_
