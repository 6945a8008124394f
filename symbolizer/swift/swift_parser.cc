#include "symbolizer/swift/swift_parser.h"

namespace stackray::swift {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::vector<NodeId> Parser::Parse() {
  while (at_ < text_.size()) {
    if (Peek() == '.') break;  // The compiler's own suffix: ".cold.1", ".resume.0".
    const NodeId id = IsDigit(Peek()) ? Identifier() : Operator(Next());
    if (!Push(id)) return {};
  }
  std::vector<NodeId> parts;
  while (Top() == Kind::kAttribute) parts.push_back(Pop());
  const bool symbol = IsEntity(Top()) || IsType(Top()) || Top() == Kind::kPrefixed;
  if (stack_.size() != 1 || !symbol) return {};
  parts.push_back(stack_.back());
  return parts;
}

NodeId Parser::Operator(char c) {
  switch (c) {
    case 'A': return Substitution();
    case 'B': return Builtin();
    case 'C': return Nominal(Kind::kClass);
    case 'V': return Nominal(Kind::kStructure);
    case 'O': return Nominal(Kind::kEnum);
    case 'P': return Nominal(Kind::kProtocol);
    case 'a': return Nominal(Kind::kTypeAlias);
    case 'E': return Extension();
    case 'F': return Function();
    case 'G': return BoundGeneric();
    case 'H': return ConformanceOperator();
    case 'I': return ImplFunction();
    case 'K': return nodes_.Add(Kind::kAnnotation, {}, " throws");
    case 'L': return LocalName();
    case 'M': return Metadata();
    case 'Q': return Associated();
    case 'R': return Requirement();
    case 'S': return Standard();
    case 'T': return Thunk();
    case 'W': return Witness();
    case 'X': return Special();
    case 'Y': return Annotation();
    case 'f': return FunctionPart();
    case 'i': return Accessor(Entity(Kind::kSubscript, "subscript", false));
    case 'v': return Accessor(Entity(Kind::kVariable, {}, true));
    default: return RareOperator(c);
  }
}

NodeId Parser::RareOperator(char c) {
  switch (c) {
    case 'D': return PopType();
    case 'N': return Prefixed("type metadata for ", PopType());
    case 'Z': return Wrap(IsEntity(Top()) ? Pop() : kNone, Kind::kStatic, {});
    case 'c': return FunctionType({});
    case 'd': return nodes_.Add(Kind::kVariadic);
    case 'g': return Retroactive();
    case 'h': return Wrap(PopType(), Kind::kModifier, "__shared ");
    case 'n': return Wrap(PopType(), Kind::kModifier, "__owned ");
    case 'z': return Wrap(PopType(), Kind::kModifier, "inout ");
    case 'l': return Signature(false);
    case 'r': return Signature(true);
    case 'm': return Wrap(PopType(), Kind::kMetatype, ".Type");
    case 'o': return OperatorName();
    case 'p': return Existential(false, kNone);
    case 'q': return GenericParameterIndex();
    case 's': return nodes_.Add(Kind::kModule, {}, "Swift");
    case 't': return Tuple();
    case 'u': {
      const NodeId signature = PopIf(Kind::kSignature), type = PopType();
      if (signature == kNone || type == kNone) return kNone;
      return nodes_.Add(Kind::kGenericType, {signature, type});
    }
    case 'w': return ValueWitness();
    case 'x': return GenericParameter(0, 0);
    case 'y': return nodes_.Add(Kind::kEmptyList);
    case '_': return nodes_.Add(Kind::kFirstElement);
    default: return kNone;
  }
}

NodeId Parser::Builtin() {
  const char c = Next();
  if (c == 'f' || c == 'i' || c == 'v') {
    const NodeId element = c == 'v' ? PopType() : kNone;
    const std::optional<uint64_t> size = Natural();
    if (!size || !NextIs('_') || (c == 'v' && element == kNone)) return kNone;
    if (c == 'v') return nodes_.Add(Kind::kOpaque);
    return nodes_.Add(Kind::kBuiltin, {}, (c == 'f' ? "FPIEEE" : "Int") + std::to_string(*size));
  }
  if (c == 'V') return PopType() != kNone && PopType() != kNone ? nodes_.Add(Kind::kOpaque) : kNone;
  static constexpr struct {
    char letter;
    std::string_view name;
  } kBuiltins[] = {{'b', "BridgeObject"},
                   {'B', "UnsafeValueBuffer"},
                   {'c', "RawUnsafeContinuation"},
                   {'D', "DefaultActorStorage"},
                   {'e', "Executor"},
                   {'I', "IntLiteral"},
                   {'j', "Job"},
                   {'P', "PackIndex"},
                   {'O', "UnknownObject"},
                   {'o', "NativeObject"},
                   {'p', "RawPointer"},
                   {'t', "SILToken"},
                   {'w', "Word"},
                   {'A', "ImplicitActor"},
                   {'d', "NonDefaultDistributedActorStorage"}};
  for (const auto& builtin : kBuiltins)
    if (builtin.letter == c) return nodes_.Add(Kind::kBuiltin, {}, builtin.name);
  return kNone;
}

// 'X': special types.
NodeId Parser::Special() {
  const char c = Next();
  switch (c) {
    case 'o': return Wrap(PopType(), Kind::kModifier, "unowned ");
    case 'u': return Wrap(PopType(), Kind::kModifier, "unowned(unsafe) ");
    case 'w': return Wrap(PopType(), Kind::kModifier, "weak ");
    case 'b': return Wrap(PopType(), Kind::kModifier, "@box ");
    case 'D': return Wrap(PopType(), Kind::kSelfType, {});
    case 'p': return Wrap(PopType(), Kind::kMetatype, ".Type", 1);
    case 'e': return nodes_.Add(Kind::kOpaque);
    case 'l': return Existential(true, kNone);
    case 'c': {
      const NodeId superclass = PopType();
      return superclass == kNone ? kNone : Existential(false, superclass);
    }
    case 'P': return ConstrainedExistential();
    case 'M':
    case 'm': {
      const char representation = Next();
      const std::string_view text = representation == 't'   ? "@thin "
                                    : representation == 'T' ? "@thick "
                                    : representation == 'o' ? "@objc_metatype "
                                                            : "";
      const NodeId type = Wrap(PopType(), Kind::kMetatype, ".Type", c == 'm' ? 1 : 0);
      return text.empty() ? kNone : Wrap(type, Kind::kModifier, text);
    }
    case 'S': {
      const char sugar = Next();
      if (sugar == 'D' && PopType() == kNone) return kNone;
      const bool known = sugar == 'q' || sugar == 'a' || sugar == 'D';
      return known && PopType() != kNone ? nodes_.Add(Kind::kOpaque) : kNone;
    }
    default: return SpecialFunctionType(c);
  }
}

// 'Y': what belongs to a function's type or to one of its parameters.
NodeId Parser::Annotation() {
  switch (Next()) {
    case 'a': return nodes_.Add(Kind::kAnnotation, {}, " async");
    case 'b': return nodes_.Add(Kind::kAnnotation, {}, "@Sendable ");
    case 'c': return Wrap(PopType(), Kind::kAnnotation, "@actor ");
    case 'K': return Wrap(PopType(), Kind::kAnnotation, " throws");
    case 'A': return nodes_.Add(Kind::kAnnotation, {}, "@isolated(any) ");
    case 'C': return nodes_.Add(Kind::kAnnotation, {}, "nonisolated(nonsending) ");
    case 'T': return nodes_.Add(Kind::kAnnotation, {}, "sending ");
    case 'j': {
      const char kind = Next();
      const bool known = kind == 'f' || kind == 'r' || kind == 'd' || kind == 'l';
      return known ? nodes_.Add(Kind::kAnnotation, {}, "@differentiable ") : kNone;
    }
    case 'i': return Wrap(PopType(), Kind::kModifier, "isolated ");
    case 'k': return Wrap(PopType(), Kind::kModifier, "@noDerivative ");
    case 't': return Wrap(PopType(), Kind::kModifier, "_const ");
    case 'u': return Wrap(PopType(), Kind::kModifier, "sending ");
    default: return kNone;
  }
}

bool Parser::Push(NodeId id) {
  if (id == kNone || stack_.size() >= Nodes::kMaxNodes) return false;
  stack_.push_back(id);
  return true;
}

NodeId Parser::Pop() {
  if (stack_.empty()) return kNone;
  const NodeId id = stack_.back();
  stack_.pop_back();
  return id;
}

NodeId Parser::PopModule() {
  if (Top() == Kind::kModule) return Pop();
  const NodeId name = PopIf(Kind::kIdentifier);
  return name == kNone ? kNone : nodes_.Add(Kind::kModule, {}, std::string(nodes_[name].text));
}

NodeId Parser::PopContext() {
  const NodeId module = PopModule();
  if (module != kNone) return module;
  const Kind top = Top();
  return IsNominal(top) || top == Kind::kBound || IsEntity(top) ? Pop() : kNone;
}

NodeId Parser::PopNominal() { return IsNominal(Top()) || Top() == Kind::kBound ? Pop() : kNone; }

NodeId Parser::PopProtocol() {
  if (IsType(Top())) return PopIf(Kind::kProtocol);
  const NodeId name = PopName();
  const NodeId context = name == kNone ? kNone : PopContext();
  return context == kNone ? kNone : nodes_.Add(Kind::kProtocol, {context, name});
}

NodeId Parser::Substitutable(NodeId id) {
  if (id != kNone) substitutions_.push_back(id);
  return id;
}

NodeId Parser::Wrap(NodeId child, Kind kind, std::string_view text, uint64_t index) {
  return child == kNone ? kNone : nodes_.Add(kind, {child}, text, index);
}

std::optional<uint64_t> Parser::Natural() {
  constexpr uint64_t kMax = 1 << 30;
  if (!IsDigit(Peek())) return std::nullopt;
  uint64_t value = 0;
  while (IsDigit(Peek())) {
    value = value * 10 + static_cast<uint64_t>(Next() - '0');
    if (value > kMax) return std::nullopt;
  }
  return value;
}

std::optional<uint64_t> Parser::Index() {
  if (NextIs('_')) return 0;
  const std::optional<uint64_t> value = Natural();
  if (!value || !NextIs('_')) return std::nullopt;
  return *value + 1;
}

}  // namespace stackray::swift
