#include "symbolizer/swift/swift_demangle.h"

#include "symbolizer/swift/swift_parser.h"
#include "symbolizer/swift/swift_text.h"

namespace stackray {
namespace {

constexpr size_t kMaxMangledBytes = 16 << 10, kMaxTextBytes = 64 << 10;

// How long the prefix is; 0 where there is none.
size_t PrefixBytes(std::string_view name) {
  const size_t start = name.starts_with('_') ? 1 : 0;
  const std::string_view prefix = name.substr(start, 2);
  return prefix == "$s" || prefix == "$S" || prefix == "$e" ? start + 2 : 0;
}

}  // namespace

bool IsSwift(std::string_view name) { return PrefixBytes(name) != 0; }

std::optional<std::string> DemangleSwift(std::string_view mangled) {
  const size_t prefix = PrefixBytes(mangled);
  if (prefix == 0 || mangled.size() > kMaxMangledBytes) return std::nullopt;
  swift::Nodes nodes;
  const std::vector<swift::NodeId> parts = swift::Parser(mangled.substr(prefix), &nodes).Parse();
  if (parts.empty()) return std::nullopt;
  return swift::Printer(nodes, kMaxTextBytes).Print(parts);
}

}  // namespace stackray
