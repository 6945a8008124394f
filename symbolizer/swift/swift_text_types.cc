#include "symbolizer/swift/swift_text.h"

namespace stackray::swift {
namespace {

std::string_view Convention(char c, bool result) {
  if (result) {
    switch (c) {
      case 'r': return "@out ";
      case 'o': return "@owned ";
      case 'd': return "@unowned ";
      case 'u': return "@unowned_inner_pointer ";
      case 'a': return "@autoreleased ";
      case 'k': return "@pack_out ";
      default: return {};
    }
  }
  switch (c) {
    case 'i': return "@in ";
    case 'c': return "@in_constant ";
    case 'l': return "@inout ";
    case 'b': return "@inout_aliasable ";
    case 'n': return "@in_guaranteed ";
    case 'X': return "@in_cxx ";
    case 'x': return "@owned ";
    case 'y': return "@unowned ";
    case 'g': return "@guaranteed ";
    case 'e': return "@deallocating ";
    case 'v': return "@pack_owned ";
    case 'p': return "@pack_guaranteed ";
    case 'm': return "@pack_inout ";
    default: return {};
  }
}

}  // namespace

void Printer::Type(NodeId id) {
  if (!Enter()) return;
  ++depth_;
  const auto& node = nodes_[id];
  switch (node.kind) {
    case Kind::kBound: Bound(id); break;
    case Kind::kTuple: TupleType(id); break;
    case Kind::kFunctionType: FunctionType(id); break;
    case Kind::kImplFunction: ImplFunction(id); break;
    case Kind::kExistential:
      if (node.children.empty()) Add(node.text.empty() ? "Any" : std::string_view(node.text));
      List(node.children, {}, " & ", {});
      if (!node.children.empty() && !node.text.empty()) Add(" & " + node.text);
      break;
    case Kind::kMetatype: MetatypeBase(id); break;
    case Kind::kGenericParameter: Add(node.text); break;
    case Kind::kBuiltin: Add("Builtin." + node.text); break;
    case Kind::kSelfType: Add("Self"); break;
    case Kind::kModifier:
      Add(node.text);
      Type(nodes_.Child(id, 0));
      break;
    case Kind::kMemberType:
      Type(nodes_.Child(id, 0));
      Add(".");
      AssociatedName(nodes_.Child(id, 1));
      break;
    case Kind::kPack: List(node.children, "Pack{", ", ", "}"); break;
    default:
      if (IsNominal(node.kind)) {
        Entity(id, false, {});
      } else {
        failed_ = true;
      }
  }
  --depth_;
}

void Printer::AssociatedName(NodeId id) {
  const NodeId protocol = nodes_.Child(id, 1);
  if (protocol != kNone) {
    Type(protocol);
    Add(".");
  }
  Name(nodes_.Child(id, 0));
}

void Printer::List(const std::vector<NodeId>& types, std::string_view open,
                   std::string_view between, std::string_view close) {
  Add(open);
  for (size_t i = 0; i < types.size() && !failed_; ++i) {
    if (i != 0) Add(between);
    Type(types[i]);
  }
  Add(close);
}

// "T?", "[T]", "[K : V]"
bool Printer::Sugar(NodeId nominal, const std::vector<NodeId>& types) {
  if (nodes_[nodes_.Child(nominal, 0)].text != "Swift") return false;
  const std::string& name = nodes_[nodes_.Child(nominal, 1)].text;
  if (name == "Optional" && types.size() == 1) {
    const Kind kind = nodes_.KindOf(types[0]);
    const bool brackets = kind == Kind::kFunctionType || kind == Kind::kImplFunction ||
                          (kind == Kind::kExistential && nodes_[types[0]].children.size() > 1);
    List(types, brackets ? "(" : "", {}, brackets ? ")?" : "?");
  } else if (name == "Array" && types.size() == 1) {
    List(types, "[", {}, "]");
  } else if (name == "Dictionary" && types.size() == 2) {
    List(types, "[", " : ", "]");
  } else {
    return false;
  }
  return true;
}

void Printer::Bound(NodeId id) {
  const std::vector<NodeId>& parts = nodes_[id].children;
  BoundLevel(parts[0], parts, parts.size() - 1);
}

// "Outer<A>.Inner<B>": the level's own arguments after its name.
void Printer::BoundLevel(NodeId nominal, const std::vector<NodeId>& parts, size_t level) {
  if (!Enter()) return;
  ++depth_;
  const std::vector<NodeId>& types = nodes_[parts[level]].children;
  const NodeId context = nodes_.Child(nominal, 0);
  const Kind outer = nodes_.KindOf(context);
  if (!IsNominal(nodes_.KindOf(nominal))) failed_ = true;
  if (level == 1 && Sugar(nominal, types)) {
    --depth_;
    return;
  }
  if (level > 1 && (IsNominal(outer) || outer == Kind::kExtension)) {
    BoundLevel(outer == Kind::kExtension ? nodes_.Child(context, 1) : context, parts, level - 1);
    if (outer == Kind::kExtension) Signature(nodes_.Child(context, 2));
    Add(".");
    Name(nodes_.Child(nominal, 1));
  } else {
    for (size_t i = 1; i < level; ++i)
      if (!nodes_[parts[i]].children.empty()) failed_ = true;  // No type there to take them.
    Entity(nominal, false, {});
  }
  if (!types.empty()) List(types, "<", ", ", ">");
  --depth_;
}

void Printer::TupleType(NodeId id) {
  Add("(");
  bool first = true;
  for (const NodeId element : nodes_[id].children) {
    if (failed_) break;
    if (!first) Add(", ");
    first = false;
    if (!nodes_[element].text.empty()) Add(nodes_[element].text + ": ");
    Type(nodes_.Child(element, 0));
    if (nodes_[element].index != 0) Add("...");
  }
  Add(")");
}

void Printer::FunctionType(NodeId id) {
  const std::vector<NodeId>& parts = nodes_[id].children;
  if (!nodes_[id].text.empty()) failed_ = true;
  std::string effects;
  for (size_t i = parts.size(); i-- > 2;) {
    const auto& annotation = nodes_[parts[i]];
    if (!annotation.children.empty()) failed_ = true;
    if (annotation.text == " async" || annotation.text == " throws") {
      effects = annotation.text == " async" ? annotation.text + effects : effects + annotation.text;
    } else if (annotation.text == "@Sendable ") {
      Add(annotation.text);
    } else {
      failed_ = true;
    }
  }
  const bool tuple = nodes_.KindOf(parts[0]) == Kind::kTuple;
  Add(tuple ? "" : "(");
  Type(parts[0]);
  Add(tuple ? "" : ")");
  Add(effects + " -> ");
  Type(parts[1]);
}

void Printer::MetatypeBase(NodeId id) {
  const NodeId type = nodes_.Child(id, 0);
  const Kind kind = nodes_.KindOf(type);
  const bool brackets = kind == Kind::kFunctionType || kind == Kind::kImplFunction ||
                        (kind == Kind::kExistential && nodes_[id].index == 0);
  const bool protocol = kind == Kind::kExistential && nodes_[id].index == 0;
  if (brackets && !protocol) Add("(");
  Type(type);
  if (brackets && !protocol) Add(")");
  Add(protocol ? ".Protocol" : ".Type");
}

// "@escaping @callee_guaranteed (@guaranteed String) -> (@owned Int, @error @owned Error)"
void Printer::ImplFunction(NodeId id) {
  const auto& node = nodes_[id];
  std::string_view rest = node.text;
  const auto take = [&rest](std::string_view letters) -> char {
    if (rest.empty() || letters.find(rest[0]) == std::string_view::npos) return '\0';
    const char c = rest[0];
    rest.remove_prefix(1);
    return c;
  };
  if (take("P") != '\0') failed_ = true;
  if (take("e") != '\0') Add("@escaping ");
  if (take("A") != '\0') Add("@isolated(any) ");
  const char callee = take("ygxt");
  Add(callee == 'y'   ? "@callee_unowned "
      : callee == 'g' ? "@callee_guaranteed "
      : callee == 'x' ? "@callee_owned "
                      : "@convention(thin) ");
  const char representation = take("BCMJKW");
  Add(representation == 'B'   ? "@convention(block) "
      : representation == 'C' ? "@convention(c) "
      : representation == 'M' ? "@convention(method) "
      : representation == 'J' ? "@convention(objc_method) "
      : representation == 'K' ? "@convention(closure) "
      : representation == 'W' ? "@convention(witness_method) "
                              : "");
  if (take("h") != '\0') Add("@Sendable ");
  if (take("H") != '\0') Add("@async ");
  if (take("T") != '\0') failed_ = true;
  if (node.children.back() != kNone) {
    Signature(node.children.back());
    Add(" ");
  }
  Add("(");
  size_t at = 0;
  for (char c = take("iclbnXxygevpm"); c != '\0'; c = take("iclbnXxygevpm")) {
    if (at > 0) Add(", ");
    Add(Convention(c, false));
    Type(node.children[at++]);
  }
  Add(") -> (");
  for (bool first = true; !rest.empty(); first = false) {
    if (!first) Add(", ");
    if (take("z") != '\0') Add("@error ");
    const char c = take("rodugakl");
    if (c == '\0' || Convention(c, true).empty()) failed_ = true;
    if (failed_) return;
    Add(Convention(c, true));
    Type(node.children[at++]);
  }
  Add(")");
}

}  // namespace stackray::swift
