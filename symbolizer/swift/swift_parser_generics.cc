// Generic parameters, their members, signatures and conformances.
#include <algorithm>

#include "symbolizer/swift/swift_parser.h"

namespace stackray::swift {

NodeId Parser::GenericParameter(uint64_t depth, uint64_t index) {
  std::string text;
  do {
    text += static_cast<char>('A' + index % 26);
    index /= 26;
  } while (index != 0);
  if (depth != 0) text += std::to_string(depth);
  return nodes_.Add(Kind::kGenericParameter, {}, text);
}

NodeId Parser::GenericParameterIndex() {
  if (NextIs('z')) return GenericParameter(0, 0);
  if (NextIs('s')) return nodes_.Add(Kind::kGenericParameter, {}, "Self");
  if (NextIs('d')) {
    const std::optional<uint64_t> depth = Index();
    const std::optional<uint64_t> index = depth ? Index() : std::nullopt;
    return index ? GenericParameter(*depth + 1, *index) : kNone;
  }
  const std::optional<uint64_t> index = Index();
  return index ? GenericParameter(0, *index + 1) : kNone;
}

// A member's name, with or without its protocol.
NodeId Parser::PopAssociatedName() {
  const NodeId protocol = PopIf(Kind::kProtocol);
  const NodeId name = PopIf(Kind::kIdentifier);
  return name == kNone ? kNone : nodes_.Add(Kind::kAssociatedName, {name, protocol});
}

NodeId Parser::MemberOf(NodeId base) {
  const NodeId name = PopAssociatedName();
  if (base == kNone || name == kNone) return kNone;
  return Substitutable(nodes_.Add(Kind::kMemberType, {base, name}));
}

// The last name first. Empty where one is missing.
std::vector<NodeId> Parser::PopAssociatedNames() {
  std::vector<NodeId> names;
  for (bool first = false; !first;) {
    first = PopIf(Kind::kFirstElement) != kNone;
    names.push_back(PopAssociatedName());
    if (names.back() == kNone) return {};
  }
  return names;
}

NodeId Parser::DeepMemberOf(NodeId base) {
  std::vector<NodeId> names = PopAssociatedNames();
  if (names.empty()) return kNone;
  while (base != kNone && !names.empty()) {
    base = nodes_.Add(Kind::kMemberType, {base, names.back()});
    names.pop_back();
  }
  return Substitutable(base);
}

// 'Q': members of generic parameters, opaque results, packs.
NodeId Parser::Associated() {
  const char c = Next();
  switch (c) {
    case 'y': return MemberOf(GenericParameterIndex());
    case 'z': return MemberOf(GenericParameter(0, 0));
    case 'Y': return DeepMemberOf(GenericParameterIndex());
    case 'Z': return DeepMemberOf(GenericParameter(0, 0));
    case 'a':
    case 'x': {
      const NodeId name = PopAssociatedName(), base = PopType();
      if (name == kNone || base == kNone) return kNone;
      const NodeId member = nodes_.Add(Kind::kMemberType, {base, name});
      return c == 'x' ? Substitutable(member) : member;
    }
    case 'r':
    case 'u': return nodes_.Add(Kind::kOpaque);
    case 'R':
    case 'U': return Index() ? nodes_.Add(Kind::kOpaque) : kNone;
    case 'O': return IsEntity(Top()) ? Wrap(Pop(), Kind::kOpaque, {}) : kNone;
    case 'o': {
      if (!Index()) return kNone;
      while (Top() == Kind::kRetroactive) Pop();
      for (;;) {
        while (Top() != Kind::kOpaque && IsType(Top())) Pop();
        if (PopIf(Kind::kEmptyList) != kNone) break;
        if (PopIf(Kind::kFirstElement) == kNone) return kNone;
      }
      return PopIf(Kind::kOpaque) == kNone ? kNone : Substitutable(nodes_.Add(Kind::kOpaque));
    }
    case 'p': {
      const NodeId count = PopType(), pattern = PopType();
      return count == kNone ? kNone : Wrap(pattern, Kind::kPackExpansion, {});
    }
    case 'P': return Pack();
    case 'e': return Index() ? Wrap(PopType(), Kind::kModifier, "each ") : kNone;
    default: return kNone;
  }
}

// 'l', or 'r', how many parameters each depth has, 'l'.
NodeId Parser::Signature(bool counted) {
  constexpr size_t kMaxDepthsAndPacks = 64;
  std::vector<NodeId> counts;
  if (!counted) counts.push_back(nodes_.Add(Kind::kCount, {}, {}, 1));
  while (counted && !NextIs('l')) {
    std::optional<uint64_t> count;
    if (!NextIs('z')) {
      count = Index();
      if (!count) return kNone;
      ++*count;
    }
    counts.push_back(nodes_.Add(Kind::kCount, {}, {}, count.value_or(0)));
    if (counts.back() == kNone) return kNone;
  }
  // A pack's marker names its parameter: "each A".
  while (Top() == Kind::kRequirement) {
    const NodeId requirement = Pop();
    if (!nodes_[requirement].children.empty()) counts.push_back(requirement);
  }
  if (counts.size() > kMaxDepthsAndPacks) return kNone;
  return nodes_.Add(Kind::kSignature, std::move(counts));
}

// What a requirement is about: a member of a parameter, a deeper one, a type that was there before,
// or the parameter.
bool Parser::RequirementSubject(char form) {
  switch (form) {
    case 'a': return MemberOf(GenericParameterIndex()) != kNone;
    case 'c': return DeepMemberOf(GenericParameterIndex()) != kNone;
    case 's': return PopType() != kNone;
    default: return GenericParameterIndex() != kNone;
  }
}

bool Parser::LayoutConstraint() {
  const char c = Next();
  if (c == 'E' || c == 'M') return Index() && Index();
  if (c == 'e' || c == 'm') return Index().has_value();
  return c != '\0' && std::string_view("NRTCDUBS").find(c) != std::string_view::npos;
}

// 'R': only its operands matter; no requirement is printed.
NodeId Parser::Requirement() {
  struct Form {
    char letter;
    char subject;  // a: associated, c: compound, s: substitution, g: generic parameter
    char operand;  // t: type, p: protocol, l: layout, i: inverse
  };
  static constexpr Form kForms[] = {
      {'c', 'a', 't'}, {'C', 'c', 't'}, {'b', 'g', 't'}, {'B', 's', 't'}, {'t', 'a', 't'},
      {'T', 'c', 't'}, {'s', 'g', 't'}, {'S', 's', 't'}, {'h', 'g', 't'}, {'m', 'a', 'l'},
      {'M', 'c', 'l'}, {'l', 'g', 'l'}, {'L', 's', 'l'}, {'p', 'a', 'p'}, {'P', 'c', 'p'},
      {'Q', 's', 'p'}, {'i', 'g', 'i'}, {'I', 's', 'i'}, {'j', 'a', 'i'}, {'J', 'c', 'i'}};
  if (NextIs('v')) return Wrap(GenericParameterIndex(), Kind::kRequirement, {});
  Form form = {'\0', 'g', 'p'};
  for (const Form& each : kForms)
    if (each.letter == Peek()) form = each;
  if (form.letter != '\0') ++at_;
  if (form.operand == 'i' && !Index()) return kNone;
  if (!RequirementSubject(form.subject)) return kNone;
  switch (form.operand) {
    case 't':
      if (PopType() == kNone) return kNone;
      break;
    case 'p':
      if (PopProtocol() == kNone) return kNone;
      break;
    case 'l':
      if (!LayoutConstraint()) return kNone;
      break;
    default: break;
  }
  return nodes_.Add(Kind::kRequirement);
}

// A type's conformance to a protocol, as the symbols of witnesses have it.
NodeId Parser::PopConformance() {
  const NodeId signature = PopIf(Kind::kSignature);
  PopModule();
  const NodeId protocol = PopProtocol();
  const NodeId type = protocol == kNone ? kNone : PopType();
  if (type == kNone) return kNone;
  return nodes_.Add(Kind::kConformance, {type, signature});
}

bool Parser::PopConformanceList() {
  if (PopIf(Kind::kEmptyList) != kNone) return true;
  for (bool first = false; !first;) {
    first = PopIf(Kind::kFirstElement) != kNone;
    if (PopIf(Kind::kConformance) == kNone) return false;
  }
  return true;
}

// 'H': conformances as the arguments of a type; nothing of them is printed.
NodeId Parser::ConformanceOperator() {
  const char c = Next();
  switch (c) {
    case 'P':
    case 'p': return Wrap(PopProtocol(), Kind::kAssociatedName, {}, 1);
    case 'C': {
      if (!PopConformanceList()) return kNone;
      if (PopIf(Kind::kAssociatedName) == kNone) {
        if (PopModule() == kNone || PopProtocol() == kNone) return kNone;
      }
      return Wrap(PopType(), Kind::kConformance, {});
    }
    case 'D': {
      if (!Index() || PopProtocol() == kNone) return kNone;
      return Wrap(PopType(), Kind::kConformance, {});
    }
    case 'I':
    case 'A': {
      if (!Index() || PopProtocol() == kNone || (c == 'A' && PopType() == kNone)) return kNone;
      return PopIf(Kind::kConformance);
    }
    default: return kNone;
  }
}

NodeId Parser::Retroactive() {
  if (!Index()) return kNone;
  return Wrap(PopIf(Kind::kConformance), Kind::kRetroactive, {});
}

}  // namespace stackray::swift
