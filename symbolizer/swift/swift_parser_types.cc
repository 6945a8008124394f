#include <algorithm>

#include "symbolizer/swift/swift_parser.h"

namespace stackray::swift {

NodeId Parser::Nominal(Kind kind) {
  const NodeId name = PopName();
  const NodeId context = name == kNone ? kNone : PopContext();
  if (context == kNone) return kNone;
  return Substitutable(nodes_.Add(kind, {context, name}));
}

// The arguments of each level that the type is nested in, the innermost's last.
NodeId Parser::BoundGeneric() {
  std::vector<NodeId> lists;
  while (Top() == Kind::kRetroactive) Pop();
  for (;;) {
    std::vector<NodeId> types;
    while (IsType(Top())) types.push_back(Pop());
    std::reverse(types.begin(), types.end());
    lists.push_back(nodes_.Add(Kind::kTypeList, std::move(types)));
    if (PopIf(Kind::kEmptyList) != kNone) break;
    if (PopIf(Kind::kFirstElement) == kNone) return kNone;
  }
  const NodeId type = PopNominal();
  if (type == kNone) return kNone;
  lists.push_back(type);
  std::reverse(lists.begin(), lists.end());
  return Substitutable(nodes_.Add(Kind::kBound, std::move(lists)));
}

NodeId Parser::Optional() {
  const NodeId type = PopType();
  if (type == kNone) return kNone;
  const NodeId list = nodes_.Add(Kind::kTypeList, {type});
  return Substitutable(nodes_.Add(Kind::kBound, {StandardType('q'), list}));
}

NodeId Parser::Tuple() {
  if (PopIf(Kind::kEmptyList) != kNone) return nodes_.Add(Kind::kTuple);
  std::vector<NodeId> elements;
  for (bool first = false; !first;) {
    first = PopIf(Kind::kFirstElement) != kNone;
    const bool variadic = PopIf(Kind::kVariadic) != kNone;
    const NodeId label = PopIf(Kind::kIdentifier), type = PopType();
    if (type == kNone) return kNone;
    const std::string text = nodes_[label].text;
    elements.push_back(nodes_.Add(Kind::kTupleElement, {type}, text, variadic ? 1 : 0));
  }
  std::reverse(elements.begin(), elements.end());
  return nodes_.Add(Kind::kTuple, std::move(elements));
}

NodeId Parser::PopParameters() {
  return PopIf(Kind::kEmptyList) != kNone ? nodes_.Add(Kind::kTuple) : PopType();
}

NodeId Parser::FunctionType(std::string_view before) {
  std::vector<NodeId> parts(2, kNone);
  while (Top() == Kind::kAnnotation) parts.push_back(Pop());
  parts[0] = PopParameters();
  parts[1] = PopParameters();
  if (parts[0] == kNone || parts[1] == kNone) return kNone;
  return nodes_.Add(Kind::kFunctionType, std::move(parts), before);
}

NodeId Parser::SpecialFunctionType(char c) {
  switch (c) {
    case 'f': return FunctionType("@convention(thin) ");
    case 'K': return FunctionType("@autoclosure ");
    case 'A': return FunctionType("@autoclosure ");
    case 'B':
    case 'L': return FunctionType("@convention(block) ");
    case 'C': return FunctionType("@convention(c) ");
    case 'E': return FunctionType({});
    default: return kNone;
  }
}

NodeId Parser::Existential(bool any_object, NodeId superclass) {
  std::vector<NodeId> protocols;
  if (PopIf(Kind::kEmptyList) == kNone) {
    for (bool first = false; !first;) {
      first = PopIf(Kind::kFirstElement) != kNone;
      const NodeId protocol = PopProtocol();
      if (protocol == kNone) return kNone;
      protocols.push_back(protocol);
    }
  }
  if (superclass != kNone) protocols.push_back(superclass);
  std::reverse(protocols.begin(), protocols.end());
  return nodes_.Add(Kind::kExistential, std::move(protocols), any_object ? "AnyObject" : "");
}

NodeId Parser::ConstrainedExistential() {
  for (bool first = false; !first;) {
    first = PopIf(Kind::kFirstElement) != kNone;
    if (PopIf(Kind::kRequirement) == kNone) return kNone;
  }
  if (PopType() == kNone) return kNone;
  return Substitutable(nodes_.Add(Kind::kOpaque));
}

NodeId Parser::Pack() {
  std::vector<NodeId> types;
  if (PopIf(Kind::kEmptyList) == kNone) {
    for (bool first = false; !first;) {
      first = PopIf(Kind::kFirstElement) != kNone;
      types.push_back(PopType());
      if (types.back() == kNone) return kNone;
    }
  }
  std::reverse(types.begin(), types.end());
  return nodes_.Add(Kind::kPack, std::move(types));
}

// 'I': the conventions up to '_'; each parameter's and result's takes one type. Those with
// substitutions of their own and those with a C type are not read.
NodeId Parser::ImplFunction() {
  const size_t start = at_;
  constexpr std::string_view kParameters = "iclbnXxygevpm", kResults = "rodugakl";
  size_t types = 0;
  if (NextIs('s') || NextIs('I')) return kNone;
  const bool pseudo_generic = NextIs('P');
  NextIs('e');
  NextIs('A');
  if (Peek() == 'd' || Peek() == 'l' || Peek() == 'f' || Peek() == 'r') return kNone;
  if (std::string_view("ygxt").find(Next()) == std::string_view::npos) return kNone;
  if (Peek() != '\0' && std::string_view("BCMJKW").find(Peek()) != std::string_view::npos) ++at_;
  if (Peek() == 'A' || Peek() == 'G' || Peek() == 'I') return kNone;  // Coroutines.
  NextIs('h');
  NextIs('H');
  NextIs('T');
  while (Peek() != '\0' && kParameters.find(Peek()) != std::string_view::npos) {
    ++at_;
    ++types;
    if (Peek() == 'w' || Peek() == 'T' || Peek() == 'I' || Peek() == 'L') return kNone;
  }
  while (Peek() != '\0' && kResults.find(Peek()) != std::string_view::npos) ++at_, ++types;
  if (NextIs('z')) {
    if (kResults.find(Next()) == std::string_view::npos) return kNone;
    ++types;
  }
  const std::string_view conventions = text_.substr(start, at_ - start);
  if (!NextIs('_')) return kNone;
  const NodeId signature = PopIf(Kind::kSignature);
  std::vector<NodeId> operands(types);
  for (size_t i = types; i-- > 0;)
    if ((operands[i] = PopType()) == kNone) return kNone;
  if (pseudo_generic && signature == kNone) return kNone;
  operands.push_back(signature);
  return nodes_.Add(Kind::kImplFunction, std::move(operands), conventions);
}

}  // namespace stackray::swift
