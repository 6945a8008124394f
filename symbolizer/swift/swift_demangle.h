// A demangler for Swift, from the public description of its mangling (docs/ABI/Mangling.rst of
// swiftlang/swift, 6.2).
#ifndef STACKRAY_SYMBOLIZER_SWIFT_SWIFT_DEMANGLE_H_
#define STACKRAY_SYMBOLIZER_SWIFT_SWIFT_DEMANGLE_H_

#include <optional>
#include <string>
#include <string_view>

namespace stackray {

// Whether the name has the prefix of a Swift symbol: "$s", "$S" (4.2), "$e" (Embedded Swift), with
// or without a '_'.
bool IsSwift(std::string_view name);

// The name as `swift-demangle --simplified` prints it: what people expect in a flame graph, without
// modules, types and requirements. Nothing where any part of it is not known here: rather no name
// than a wrong one.
// Input:   any bytes, at most 16 KiB.
// Memory:  for the call only: at most 20,000 nodes and 64 KiB of text; the recursion's depth is
//          bounded. Threads: any.
std::optional<std::string> DemangleSwift(std::string_view mangled);

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_SWIFT_SWIFT_DEMANGLE_H_
