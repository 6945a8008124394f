// The stack machine that reads a mangled Swift name (docs/ABI/Mangling.rst of swiftlang/swift,
// 6.2): each operator takes its operands from the stack and leaves what it makes there.
// Input:  any bytes. An operator not known here, or operands that are not there, end the reading
// without a result. Memory: Nodes::kMaxNodes nodes. No recursion.
#ifndef STACKRAY_SYMBOLIZER_SWIFT_SWIFT_PARSER_H_
#define STACKRAY_SYMBOLIZER_SWIFT_SWIFT_PARSER_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbolizer/swift/swift_nodes.h"

namespace stackray::swift {

class Parser {
 public:
  // `mangled`: without the prefix.
  Parser(std::string_view mangled, Nodes* nodes) : text_(mangled), nodes_(*nodes) {}

  // The symbol's parts: its attributes, the last one first, then one node. Empty when it is not
  // understood.
  std::vector<NodeId> Parse();

 private:
  // swift_parser.cc
  NodeId Operator(char c);
  NodeId RareOperator(char c);
  NodeId Builtin();
  NodeId Special();
  NodeId Annotation();
  char Next() { return at_ < text_.size() ? text_[at_++] : '\0'; }
  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool NextIs(char c) { return Peek() == c && ++at_ != 0; }
  bool Push(NodeId id);
  Kind Top() const { return stack_.empty() ? Kind::kNothing : nodes_.KindOf(stack_.back()); }
  NodeId Pop();
  NodeId PopIf(Kind kind) { return Top() == kind ? Pop() : kNone; }
  NodeId PopType() { return IsType(Top()) ? Pop() : kNone; }
  NodeId PopName() { return IsName(Top()) ? Pop() : kNone; }
  NodeId PopModule();
  NodeId PopContext();
  NodeId PopNominal();
  NodeId PopProtocol();
  NodeId Substitutable(NodeId id);
  NodeId Wrap(NodeId child, Kind kind, std::string_view text, uint64_t index = 0);
  std::optional<uint64_t> Natural();
  std::optional<uint64_t> Index();

  // swift_parser_names.cc
  NodeId Identifier();
  void RememberWords(std::string_view text);
  bool AppendWordOrPart(std::string* text, bool* last);
  NodeId OperatorName();
  NodeId LocalName();
  NodeId Substitution();
  NodeId Standard();
  NodeId StandardType(char c);

  // swift_parser_types.cc
  NodeId Nominal(Kind kind);
  NodeId BoundGeneric();
  NodeId Optional();
  NodeId Tuple();
  NodeId FunctionType(std::string_view before);
  NodeId PopParameters();
  NodeId Existential(bool any_object, NodeId superclass);
  NodeId ConstrainedExistential();
  NodeId ImplFunction();
  NodeId SpecialFunctionType(char c);
  NodeId Pack();

  // swift_parser_generics.cc
  NodeId GenericParameter(uint64_t depth, uint64_t index);
  NodeId GenericParameterIndex();
  NodeId Associated();
  NodeId PopAssociatedName();
  std::vector<NodeId> PopAssociatedNames();
  NodeId MemberOf(NodeId base);
  NodeId DeepMemberOf(NodeId base);
  NodeId Signature(bool counted);
  NodeId Requirement();
  bool RequirementSubject(char form);
  bool LayoutConstraint();
  NodeId ConformanceOperator();
  NodeId Retroactive();
  NodeId PopConformance();
  bool PopConformanceList();

  // swift_parser_entities.cc
  NodeId Entity(Kind kind, std::string_view text, bool named);
  NodeId PopLabels(NodeId type);
  NodeId Function();
  NodeId FunctionPart();
  NodeId Closure(std::string_view text);
  NodeId Accessor(NodeId storage);
  NodeId Extension();

  // swift_parser_symbols.cc
  NodeId Metadata();
  NodeId Witness();
  NodeId Outlined();
  NodeId Thunk();
  NodeId ConformanceThunk(char c);
  NodeId Reabstraction();
  NodeId KeyPath(char c);
  NodeId Derivative();
  NodeId Specialization(char c);
  NodeId SignatureSpecialization();
  bool SpecializationInfo();
  NodeId ValueWitness();
  NodeId Attribute(std::string_view text) { return nodes_.Add(Kind::kAttribute, {}, text); }
  NodeId Prefixed(std::string_view text, NodeId first, std::string_view between = {},
                  NodeId second = kNone);

  std::string_view text_;
  Nodes& nodes_;
  size_t at_ = 0;
  std::vector<NodeId> stack_, substitutions_;
  std::vector<std::string> words_;
};

}  // namespace stackray::swift

#endif  // STACKRAY_SYMBOLIZER_SWIFT_SWIFT_PARSER_H_
