// What a mangled Swift name says, as a graph: a node may be the child of several, because the
// mangling refers back.
#ifndef STACKRAY_SYMBOLIZER_SWIFT_SWIFT_NODES_H_
#define STACKRAY_SYMBOLIZER_SWIFT_SWIFT_NODES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stackray::swift {

using NodeId = uint32_t;
inline constexpr NodeId kNone = 0;  // No node: a failure, or a child that is not there.

// Children in brackets, in their order.
enum class Kind : uint8_t {
  kNothing,
  // Names.
  kModule,
  kIdentifier,
  kOperatorName,  // Text with its fixity.
  kPrivateName,   // [name or none]
  kLocalName,     // [name], index
  kRelatedName,   // [name]
  // Types with a name: [context, name].
  kClass,
  kStructure,
  kEnum,
  kProtocol,
  kTypeAlias,
  kOtherNominal,
  // Other types.
  kBound,         // [nominal, list of the outermost, …, list of the innermost]
  kTuple,         // [elements]
  kTupleElement,  // [type], text: label, index: 1 variadic
  kFunctionType,  // [parameters, result, annotations …], text: what stands before it
  kImplFunction,  // [types], text: conventions
  kMetatype,      // [type], text: ".Type" or the like
  kExistential,   // [protocols], text: " & AnyObject" or empty
  kGenericParameter,
  kMemberType,     // [base, name, protocol or none]
  kModifier,       // [type], text: what stands before it
  kBuiltin,        // text
  kGenericType,    // [signature, type]
  kPackExpansion,  // [pattern]
  kPack,           // [types]
  kOpaque,         // A type whose text is not known here.
  kSelfType,       // [type]
  // Lists and markers of the stack.
  kTypeList,
  kLabels,
  kEmptyList,
  kFirstElement,
  kVariadic,
  kAnnotation,  // [type or none], text
  kSignature,   // index of a child: its parameters' counts, one child a depth
  kCount,       // index
  kRequirement,
  kRetroactive,
  kConformance,     // [type, signature or none]
  kAssociatedName,  // [name, protocol or none]
  // Entities.
  kExtension,    // [module, type, signature or none]
  kFunction,     // [context, name, labels, type]
  kVariable,     // [context, name, labels, type]
  kSubscript,    // [context, name or none, labels, type]
  kConstructor,  // [context, name or none, labels, type], text: "init"
  kAllocator,
  kMember,    // [context], text: deinit and its like
  kPartOf,    // [context], text: "variable initialization expression"
  kClosure,   // [context], text, index
  kAccessor,  // [storage], text: "getter"
  kStatic,    // [entity]
  // Symbols.
  kAttribute,  // text: what stands before the rest of the symbol
  kPrefixed,   // [node, second or none], text: what stands before; the second after kSeparator.
  kSeparator,  // text
};

struct Node {
  Kind kind = Kind::kNothing;
  uint64_t index = 0;
  std::string text;
  std::vector<NodeId> children;
};

class Nodes {
 public:
  static constexpr size_t kMaxNodes = 20'000, kMaxChildren = 200'000, kMaxTextBytes = 1 << 20;

  Nodes() : nodes_(1) {}

  // kNone when there are too many.
  NodeId Add(Kind kind, std::vector<NodeId> children = {}, std::string_view text = {},
             uint64_t index = 0) {
    children_ += children.size();
    text_bytes_ += text.size();
    if (nodes_.size() >= kMaxNodes || children_ > kMaxChildren || text_bytes_ > kMaxTextBytes)
      return kNone;
    nodes_.push_back({kind, index, std::string(text), std::move(children)});
    return static_cast<NodeId>(nodes_.size() - 1);
  }

  const Node& operator[](NodeId id) const { return nodes_[id]; }
  Kind KindOf(NodeId id) const { return nodes_[id].kind; }
  NodeId Child(NodeId id, size_t i) const {
    const std::vector<NodeId>& children = nodes_[id].children;
    return i < children.size() ? children[i] : kNone;
  }

 private:
  std::vector<Node> nodes_;
  size_t children_ = 0, text_bytes_ = 0;
};

inline bool IsNominal(Kind kind) { return kind >= Kind::kClass && kind <= Kind::kOtherNominal; }
inline bool IsType(Kind kind) { return kind >= Kind::kClass && kind <= Kind::kSelfType; }
inline bool IsName(Kind kind) { return kind >= Kind::kIdentifier && kind <= Kind::kRelatedName; }
inline bool IsEntity(Kind kind) { return kind >= Kind::kExtension && kind <= Kind::kStatic; }
inline bool IsRequirement(Kind kind) { return kind == Kind::kRequirement; }

}  // namespace stackray::swift

#endif  // STACKRAY_SYMBOLIZER_SWIFT_SWIFT_NODES_H_
