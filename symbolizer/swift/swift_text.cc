#include "symbolizer/swift/swift_text.h"

namespace stackray::swift {

std::optional<std::string> Printer::Print(const std::vector<NodeId>& parts) {
  bool specialized = false;
  for (const NodeId part : parts) {
    if (nodes_.KindOf(part) != Kind::kAttribute) {
      Node(part);
      continue;
    }
    const std::string& text = nodes_[part].text;
    if (text == "specialized " && specialized) continue;  // Said once.
    specialized = specialized || text == "specialized ";
    Add(text);
  }
  if (failed_ || text_.empty()) return std::nullopt;
  return std::move(text_);
}

void Printer::Node(NodeId id) {
  if (!Enter()) return;
  ++depth_;
  const Kind kind = nodes_.KindOf(id);
  if (kind == Kind::kPrefixed) {
    Prefixed(id);
  } else if (kind == Kind::kConformance) {
    Signature(nodes_.Child(id, 1));
    if (nodes_.Child(id, 1) != kNone) Add(" ");
    Node(nodes_.Child(id, 0));
  } else if (kind == Kind::kAssociatedName) {
    AssociatedName(id);
  } else if (kind == Kind::kSignature) {
    Signature(id);
  } else if (IsName(kind)) {
    Name(id);
  } else if (kind == Kind::kSeparator) {
    Add(nodes_[id].text);
  } else if (IsEntity(kind)) {
    Entity(id, false, {});
  } else if (IsType(kind)) {
    Type(id);
  } else {
    failed_ = true;
  }
  --depth_;
}

void Printer::Prefixed(NodeId id) {
  Add(nodes_[id].text);
  for (const NodeId child : nodes_[id].children) Node(child);
}

// What a name stands in, with its dot.
Printer::Late Printer::Context(NodeId id) {
  if (!Enter()) return kNone;
  ++depth_;
  const size_t before = text_.size();
  Late late = kNone;
  const Kind kind = nodes_.KindOf(id);
  if (kind == Kind::kModule) {
  } else if (kind == Kind::kBound) {
    Bound(id);
  } else {
    late = Entity(id, true, {});
  }
  if (text_.size() != before) Add(".");
  --depth_;
  return late;
}

void Printer::Name(NodeId id) {
  if (!Enter()) return;
  ++depth_;
  const Kind kind = nodes_.KindOf(id);
  const NodeId child = nodes_.Child(id, 0);
  if (kind == Kind::kIdentifier || kind == Kind::kOperatorName) {
    Add(nodes_[id].text);
  } else if (kind == Kind::kPrivateName && child != kNone) {
    Name(child);
  } else if (kind == Kind::kLocalName) {
    Name(child);
    Add(" #" + std::to_string(nodes_[id].index + 1));
  } else if (kind == Kind::kRelatedName) {
    Add("related decl '" + nodes_[id].text + "' for ");
    Name(child);
  } else {
    failed_ = true;
  }
  --depth_;
}

// The name without its context, with labels or the accessor's word.
void Printer::EntityName(NodeId id, std::string_view accessor) {
  const Kind kind = nodes_.KindOf(id);
  const NodeId name = nodes_.Child(id, 1);
  if (IsNominal(kind) || kind == Kind::kFunction || kind == Kind::kVariable) {
    Name(name);
  } else if (kind == Kind::kAllocator || kind == Kind::kMember) {
    const bool of_class = nodes_.KindOf(nodes_.Child(id, 0)) == Kind::kClass;
    const bool deallocating = nodes_[id].text == "deallocating_deinit";
    if (of_class && kind == Kind::kAllocator) Add("__allocating_");
    if (of_class && deallocating) Add("__");
    Add(deallocating && !of_class ? "deinit" : std::string_view(nodes_[id].text));
  } else {
    Add(nodes_[id].text);
    if (kind == Kind::kClosure) Add(std::to_string(nodes_[id].index));
  }
  if (!accessor.empty()) Add(".");
  Add(accessor);
  if (kind == Kind::kFunction || kind == Kind::kConstructor || kind == Kind::kAllocator) {
    if (nodes_.KindOf(name) == Kind::kLocalName) Add(" ");
    Labels(id);
  }
}

Printer::Late Printer::Entity(NodeId id, bool as_context, std::string_view accessor) {
  if (!Enter()) return kNone;
  ++depth_;
  const Kind kind = nodes_.KindOf(id);
  const NodeId context = nodes_.Child(id, 0);
  Late late = kNone;
  if (kind == Kind::kStatic) {
    if (as_context) {
      late = id;
    } else {
      Add("static ");
      Node(context);
    }
  } else if (kind == Kind::kAccessor) {
    late = Entity(context, as_context, nodes_[id].text);
    if (late == context) late = id;
  } else if (kind == Kind::kExtension) {
    const NodeId type = nodes_.Child(id, 1);
    late = nodes_.KindOf(type) == Kind::kBound ? (Bound(type), kNone) : Entity(type, true, {});
    Signature(nodes_.Child(id, 2));
  } else {
    const bool function = kind == Kind::kFunction || kind == Kind::kConstructor ||
                          kind == Kind::kAllocator || kind == Kind::kVariable ||
                          kind == Kind::kSubscript;
    const bool words = kind == Kind::kClosure || kind == Kind::kPartOf ||
                       nodes_.KindOf(nodes_.Child(id, 1)) == Kind::kLocalName;
    if (as_context && (function || words)) {
      --depth_;
      return id;
    }
    const Late after = words ? context : Context(context);
    EntityName(id, accessor);
    if (as_context) {
      late = after;
    } else if (after != kNone && nodes_.KindOf(after) != Kind::kModule) {
      Add(kind == Kind::kPartOf ? " of " : " in ");
      Node(after);
    }
  }
  --depth_;
  return late;
}

// "<A, B>(_:with:)"
void Printer::Labels(NodeId id) {
  NodeId type = nodes_.Child(id, 3);
  if (nodes_.KindOf(type) == Kind::kGenericType) {
    Signature(nodes_.Child(type, 0));
    type = nodes_.Child(type, 1);
  }
  if (nodes_.KindOf(type) != Kind::kFunctionType) return;
  LabelList(nodes_.Child(id, 2), type);
}

void Printer::LabelList(NodeId labels, NodeId function) {
  const NodeId parameters = nodes_.Child(function, 0);
  const bool tuple = nodes_.KindOf(parameters) == Kind::kTuple;
  const size_t count = tuple ? nodes_[parameters].children.size() : 1;
  Add("(");
  for (size_t i = 0; i < count && Enter(); ++i) {
    const NodeId label = nodes_.Child(labels, i);
    Add(nodes_.KindOf(label) == Kind::kIdentifier ? std::string_view(nodes_[label].text) : "_");
    Add(":");
  }
  Add(")");
}

void Printer::Signature(NodeId id) {
  if (id == kNone) return;
  constexpr uint64_t kMaxParameters = 1000;
  Add("<");
  uint64_t depth = 0;
  for (const NodeId count : nodes_[id].children) {
    if (nodes_.KindOf(count) != Kind::kCount) continue;
    if (depth != 0) Add("><");
    if (nodes_[count].index > kMaxParameters) failed_ = true;
    for (uint64_t i = 0; i < nodes_[count].index && Enter(); ++i) {
      std::string name;
      uint64_t rest = i;
      do {
        name += static_cast<char>('A' + rest % 26);
        rest /= 26;
      } while (rest != 0);
      if (depth != 0) name += std::to_string(depth);
      if (i != 0) Add(", ");
      for (const NodeId each : nodes_[id].children)
        if (nodes_[nodes_.Child(each, 0)].text == name) Add("each ");
      Add(name);
    }
    ++depth;
  }
  Add(">");
}

}  // namespace stackray::swift
