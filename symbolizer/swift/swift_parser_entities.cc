#include <algorithm>

#include "symbolizer/swift/swift_parser.h"

namespace stackray::swift {

// Something with a type and labels: [context, name, labels, type].
NodeId Parser::Entity(Kind kind, std::string_view text, bool named) {
  NodeId name = named ? kNone : PopIf(Kind::kPrivateName);
  const NodeId type = PopType();
  if (type == kNone) return kNone;
  const NodeId labels = PopLabels(type);
  if (named && (name = PopName()) == kNone) return kNone;
  const NodeId context = PopContext();
  return context == kNone ? kNone : nodes_.Add(kind, {context, name, labels, type}, text);
}

// As many labels as the function has parameters; none where it has no labels at all.
NodeId Parser::PopLabels(NodeId type) {
  if (PopIf(Kind::kEmptyList) != kNone) return nodes_.Add(Kind::kLabels);
  if (nodes_.KindOf(type) == Kind::kGenericType) type = nodes_.Child(type, 1);
  if (nodes_.KindOf(type) != Kind::kFunctionType) return kNone;
  const NodeId parameters = nodes_.Child(type, 0);
  const bool tuple = nodes_.KindOf(parameters) == Kind::kTuple;
  const size_t count = tuple ? nodes_[parameters].children.size() : 1;
  std::vector<NodeId> labels;
  while (labels.size() < count && (Top() == Kind::kIdentifier || Top() == Kind::kFirstElement))
    labels.push_back(Pop());
  if (labels.size() < count || count == 0) return kNone;
  std::reverse(labels.begin(), labels.end());
  return nodes_.Add(Kind::kLabels, std::move(labels));
}

NodeId Parser::Function() {
  const NodeId signature = PopIf(Kind::kSignature);
  NodeId type = FunctionType({});
  if (type == kNone) return kNone;
  const NodeId labels = PopLabels(type), name = PopName();
  const NodeId context = name == kNone ? kNone : PopContext();
  if (context == kNone) return kNone;
  if (signature != kNone) type = nodes_.Add(Kind::kGenericType, {signature, type});
  return nodes_.Add(Kind::kFunction, {context, name, labels, type});
}

NodeId Parser::Closure(std::string_view text) {
  const std::optional<uint64_t> index = Index();
  if (!index || PopType() == kNone) return kNone;
  return Wrap(PopContext(), Kind::kClosure, text, *index + 1);
}

// 'f': constructors, destructors, closures and what the compiler makes of a declaration.
NodeId Parser::FunctionPart() {
  const char c = Next();
  switch (c) {
    case 'C': return Entity(Kind::kAllocator, "init", false);
    case 'c': return Entity(Kind::kConstructor, "init", false);
    case 'D': return Wrap(PopContext(), Kind::kMember, "deallocating_deinit");
    case 'd': return Wrap(PopContext(), Kind::kMember, "deinit");
    case 'Z': return Wrap(PopContext(), Kind::kMember, "__isolated_deallocating_deinit");
    case 'E': return Wrap(PopContext(), Kind::kMember, "__ivar_destroyer");
    case 'e': return Wrap(PopContext(), Kind::kMember, "__ivar_initializer");
    case 'U': return Closure("closure #");
    case 'u': return Closure("implicit closure #");
    case 'A': {
      const std::optional<uint64_t> index = Index();
      if (!index) return kNone;
      return Wrap(PopContext(), Kind::kPartOf, "default argument " + std::to_string(*index));
    }
    case 'i': return Wrap(PopContext(), Kind::kPartOf, "variable initialization expression");
    case 'P': return Wrap(PopContext(), Kind::kPartOf, "property wrapper backing initializer");
    case 'W':
      return Wrap(PopContext(), Kind::kPartOf, "property wrapper init from projected value");
    default: return kNone;
  }
}

NodeId Parser::Accessor(NodeId storage) {
  static constexpr struct {
    char letter;
    std::string_view text;
  } kAccessors[] = {{'m', "materializeForSet"},
                    {'s', "setter"},
                    {'g', "getter"},
                    {'G', "getter"},
                    {'w', "willset"},
                    {'W', "didset"},
                    {'r', "read"},
                    {'M', "modify"},
                    {'i', "init"},
                    {'x', "modify2"},
                    {'y', "read2"}};
  if (storage == kNone) return kNone;
  const char c = Next();
  if (c == 'p') return storage;
  if (c == 'a' || c == 'l') {
    const char owner = Next();
    const std::string_view text =
        owner == 'u'   ? (c == 'a' ? "unsafeMutableAddressor" : "unsafeAddressor")
        : owner == 'O' ? (c == 'a' ? "owningMutableAddressor" : "owningAddressor")
                       : "";
    return text.empty() ? kNone : nodes_.Add(Kind::kAccessor, {storage}, text);
  }
  for (const auto& accessor : kAccessors)
    if (accessor.letter == c) return nodes_.Add(Kind::kAccessor, {storage}, accessor.text);
  return kNone;
}

NodeId Parser::Extension() {
  const NodeId signature = PopIf(Kind::kSignature);
  const NodeId module = PopModule();
  const NodeId type = module == kNone ? kNone : PopNominal();
  return type == kNone ? kNone : nodes_.Add(Kind::kExtension, {module, type, signature});
}

}  // namespace stackray::swift
