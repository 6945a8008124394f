// What stands at a symbol's end: metadata, witnesses, thunks and specializations.
#include <algorithm>

#include "symbolizer/swift/swift_parser.h"

namespace stackray::swift {

NodeId Parser::Prefixed(std::string_view text, NodeId first, std::string_view between,
                        NodeId second) {
  if (first == kNone || (second == kNone && !between.empty())) return kNone;
  if (second == kNone) return nodes_.Add(Kind::kPrefixed, {first}, text);
  const NodeId separator = nodes_.Add(Kind::kSeparator, {}, between);
  return nodes_.Add(Kind::kPrefixed, {first, separator, second}, text);
}

NodeId Parser::Metadata() {
  static constexpr struct {
    char letter;
    std::string_view text;
  } kMetadata[] = {{'a', "type metadata accessor for "},
                   {'r', "type metadata completion function for "},
                   {'i', "type metadata instantiation function for "},
                   {'I', "type metadata instantiation cache for "},
                   {'l', "type metadata singleton initialization cache for "},
                   {'m', "metaclass for "},
                   {'n', "nominal type descriptor for "},
                   {'u', "method lookup function for "},
                   {'U', "ObjC metadata update function for "},
                   {'f', "full type metadata for "},
                   {'P', "generic type metadata pattern for "},
                   {'b', "canonical specialized generic type metadata accessor for "},
                   {'D', "demangling cache variable for type metadata for "},
                   {'L', "lazy cache variable for type metadata for "},
                   {'o', "class metadata base offset for "}};
  const char c = Next();
  if (c == 'p') return Prefixed("protocol descriptor for ", PopProtocol());
  for (const auto& metadata : kMetadata)
    if (metadata.letter == c) return Prefixed(metadata.text, PopType());
  return kNone;
}

NodeId Parser::Outlined() {
  static constexpr struct {
    char letter;
    std::string_view text;
  } kOutlined[] = {{'y', "outlined copy of "},
                   {'e', "outlined consume of "},
                   {'r', "outlined retain of "},
                   {'s', "outlined release of "},
                   {'b', "outlined init with take of "},
                   {'B', "outlined init with take of "},
                   {'c', "outlined init with copy of "},
                   {'C', "outlined init with copy of "},
                   {'d', "outlined assign with take of "},
                   {'D', "outlined assign with take of "},
                   {'f', "outlined assign with copy of "},
                   {'F', "outlined assign with copy of "},
                   {'h', "outlined destroy of "},
                   {'H', "outlined destroy of "}};
  const char c = Next();
  for (const auto& outlined : kOutlined) {
    if (outlined.letter != c) continue;
    const NodeId signature = PopIf(Kind::kSignature), type = PopType();
    return Prefixed(outlined.text, type, {}, c == 's' ? kNone : signature);
  }
  return kNone;
}

NodeId Parser::Witness() {
  const char c = Next();
  switch (c) {
    case 'O': return Outlined();
    case 'l': {
      const NodeId conformance = PopConformance(), type = PopType();
      return Prefixed("lazy protocol witness table accessor for type ", type, " and conformance ",
                      conformance);
    }
    case 'a': return Prefixed("protocol witness table accessor for ", PopConformance());
    case 'I':
      return Prefixed("instantiation function for generic protocol witness table for ",
                      PopConformance());
    case 'P': return Prefixed("protocol witness table for ", PopConformance());
    case 'b': {
      const NodeId protocol = PopProtocol();
      return Prefixed("base witness table accessor for ", protocol, " in ", PopConformance());
    }
    case 'T': {
      const NodeId protocol = PopProtocol();
      std::vector<NodeId> names = PopAssociatedNames();
      if (protocol == kNone || names.empty()) return kNone;
      NodeId path = names.back();
      for (names.pop_back(); !names.empty(); names.pop_back())
        path = Prefixed({}, path, ".", names.back());
      path = Prefixed({}, path, " : ", protocol);
      return Prefixed("associated type witness table accessor for ", path, " in ",
                      PopConformance());
    }
    case 'V': return Prefixed("value witness table for ", PopType());
    case 'Z': {
      std::vector<NodeId> names;
      while (PopIf(Kind::kFirstElement) != kNone) {
        names.push_back(PopName());
        if (names.back() == kNone) return kNone;
      }
      if (names.size() != 1 || PopContext() == kNone) return kNone;
      return Prefixed("one-time initialization function for ", names[0]);
    }
    default: return kNone;
  }
}

NodeId Parser::Reabstraction() {
  PopIf(Kind::kSignature);
  const NodeId to = PopType(), from = PopType();
  if (to == kNone || from == kNone) return kNone;
  return Prefixed("thunk for ", from);
}

NodeId Parser::ConformanceThunk(char c) {
  if (c == 'S')
    return Prefixed("protocol self-conformance witness for ", IsEntity(Top()) ? Pop() : kNone);
  const NodeId entity = IsEntity(Top()) ? Pop() : kNone;
  if (c == 'V')
    return Prefixed("vtable thunk for ", entity, " dispatching to ",
                    IsEntity(Top()) ? Pop() : kNone);
  const NodeId conformance = entity == kNone ? kNone : PopConformance();
  return Prefixed("protocol witness for ", entity, " in conformance ", conformance);
}

NodeId Parser::KeyPath(char c) {
  const NodeId signature = PopIf(Kind::kSignature);
  if (c == 'H' || c == 'h') return kNone;
  std::vector<NodeId> types;
  while (IsType(Top())) types.push_back(Pop());
  const NodeId entity = IsEntity(Top()) ? Pop() : kNone;
  if (signature != kNone || types.size() != 1) return kNone;
  return Prefixed(c == 'K' ? "key path getter for " : "key path setter for ", entity, " : ",
                  types[0]);
}

// A derivative, by which parameters and results: sets of 'S' and 'U'.
NodeId Parser::Derivative() {
  const char kind = Next();
  const auto set = [this](char end) {
    while (Peek() == 'S' || Peek() == 'U') ++at_;
    return NextIs(end);
  };
  PopIf(Kind::kSignature);
  if ((kind != 'f' && kind != 'r') || !set('p') || !set('r')) return kNone;
  return Attribute(kind == 'f' ? "forward-mode derivative of " : "reverse-mode derivative of ");
}

// 'T'
NodeId Parser::Thunk() {
  static constexpr struct {
    char letter;
    std::string_view text;
  } kAttributes[] = {{'A', "partial apply for "},
                     {'a', "partial apply for "},
                     {'j', "dispatch thunk of "},
                     {'q', "method descriptor for "},
                     {'O', "@nonobjc "},
                     {'o', "@objc "},
                     {'D', "dynamic "},
                     {'d', "super "},
                     {'E', "distributed thunk "},
                     {'F', "distributed accessor for "},
                     {'u', "async function pointer to "},
                     {'m', {}},
                     {'c', "curry thunk of "}};
  const char c = Next();
  for (const auto& attribute : kAttributes)
    if (attribute.letter == c) return Attribute(attribute.text);
  switch (c) {
    case 'R':
    case 'r': return Reabstraction();
    case 'W':
    case 'V':
    case 'S': return ConformanceThunk(c);
    case 'K':
    case 'k': return KeyPath(c);
    case 'Q':
    case 'Y': return Index() ? Attribute({}) : kNone;
    case 'w': {
      const char kind = Next();
      if (kind == 'b') return Attribute("back deployment thunk for ");
      if (kind == 'B') return Attribute("back deployment fallback for ");
      return kind == 'S' ? Attribute("#_hasSymbol query for ") : kNone;
    }
    case 'J': return Derivative();
    case 'f': return SignatureSpecialization();
    default: return Specialization(c);
  }
}

// Whether it may be inlined elsewhere, lost its async or its metatypes, and the pass that made it.
bool Parser::SpecializationInfo() {
  while (NextIs('q') || NextIs('a') || NextIs('r') || NextIs('m')) {
  }
  const char pass = Next();
  return pass >= '0' && pass <= '9';
}

NodeId Parser::Specialization(char c) {
  while (c == 't') {
    Natural();
    c = Next();
  }
  if (c == 'p' || c == 'P') {
    if (!SpecializationInfo() || PopType() == kNone) return kNone;
    return Attribute("specialized ");
  }
  if (c != 'g' && c != 'G' && c != 'B' && c != 's' && c != 'i') return kNone;
  if (!SpecializationInfo()) return kNone;
  for (bool first = false; !first;) {
    first = PopIf(Kind::kFirstElement) != kNone;
    if (PopType() == kNone) return kNone;
  }
  return Attribute(c == 'i' ? "inlined " : "specialized ");
}

// 'Tf': an operator an argument, '_', one for the result. Some have taken operands from the stack.
NodeId Parser::SignatureSpecialization() {
  if (!SpecializationInfo()) return kNone;
  std::string operands;  // c: types and a name, n: a name
  bool result = false;
  for (;;) {
    const char c = Next();
    if (c == '_' && !result) {
      result = true;
      continue;
    }
    switch (c) {
      case 'n':
      case 'i':
      case 's':
      case 'x': break;
      case 'c': operands += 'c'; break;
      case 'e': NextIs('D'), NextIs('G'), NextIs('X'); break;
      case 'd': NextIs('G'), NextIs('X'); break;
      case 'g': NextIs('X'); break;
      case 'p': {
        const char kind = Next();
        if (kind == 'f' || kind == 'g') {
          operands += 'n';
        } else if (kind == 'i' || kind == 'd') {
          if (!Natural()) return kNone;
        } else if (kind == 's' && (Peek() == 'b' || Peek() == 'w' || Peek() == 'c')) {
          ++at_;
          operands += 'n';
        } else {
          return kNone;
        }
        break;
      }
      default: return kNone;
    }
    if (result) break;
  }
  for (size_t i = operands.size(); i-- > 0;) {
    while (operands[i] == 'c' && IsType(Top())) Pop();
    if (PopIf(Kind::kIdentifier) == kNone) return kNone;
  }
  return Attribute("specialized ");
}

NodeId Parser::ValueWitness() {
  static constexpr struct {
    std::string_view letters, text;
  } kWitnesses[] = {{"ca", "assignWithCopy for "},
                    {"ta", "assignWithTake for "},
                    {"xx", "destroy for "},
                    {"Xx", "destroyArray for "},
                    {"cp", "initializeWithCopy for "},
                    {"tk", "initializeWithTake for "},
                    {"CP", "initializeBufferWithCopyOfBuffer for "},
                    {"Cp", "initializeBufferWithCopy for "},
                    {"TK", "initializeBufferWithTakeOfBuffer for "},
                    {"ug", "getEnumTag for "},
                    {"up", "destructiveProjectEnumData for "},
                    {"ui", "destructiveInjectEnumTag for "},
                    {"xs", "storeExtraInhabitant for "},
                    {"xg", "getExtraInhabitantIndex for "},
                    {"et", "getEnumTagSinglePayload for "},
                    {"st", "storeEnumTagSinglePayload for "}};
  const std::string_view letters = text_.substr(std::min(at_, text_.size()), 2);
  at_ += letters.size();
  for (const auto& witness : kWitnesses)
    if (witness.letters == letters) return Prefixed(witness.text, PopType());
  return kNone;
}

}  // namespace stackray::swift
