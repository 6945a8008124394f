// A parsed Swift name → its text, in the simplified form: no modules, no types of parameters, no
// requirements. Memory: the output, at most `max_bytes`. Recursion: at most 200 deep; work: at most
// 100,000 nodes.
#ifndef STACKRAY_SYMBOLIZER_SWIFT_SWIFT_TEXT_H_
#define STACKRAY_SYMBOLIZER_SWIFT_SWIFT_TEXT_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbolizer/swift/swift_nodes.h"

namespace stackray::swift {

class Printer {
 public:
  Printer(const Nodes& nodes, size_t max_bytes) : nodes_(nodes), max_bytes_(max_bytes) {}

  // The parts that Parser::Parse gave. Nothing where a part has no text here, or the text is too
  // long.
  std::optional<std::string> Print(const std::vector<NodeId>& parts);

 private:
  // A context is printed before its name ("Outer.name") or, where that does not read, after it
  // ("name in outer()"): then this gives it back. kNone otherwise.
  using Late = NodeId;

  void Node(NodeId id);
  Late Context(NodeId id);
  Late Entity(NodeId id, bool as_context, std::string_view accessor);
  void EntityName(NodeId id, std::string_view accessor);
  void Labels(NodeId id);
  void LabelList(NodeId labels, NodeId function);
  void Signature(NodeId id);
  void Prefixed(NodeId id);
  void Name(NodeId id);
  // swift_text_types.cc
  void Type(NodeId id);
  void AssociatedName(NodeId id);
  void Bound(NodeId id);
  bool Sugar(NodeId nominal, const std::vector<NodeId>& types);
  void BoundLevel(NodeId nominal, const std::vector<NodeId>& parts, size_t level);
  void List(const std::vector<NodeId>& types, std::string_view open, std::string_view between,
            std::string_view close);
  void TupleType(NodeId id);
  void FunctionType(NodeId id);
  void ImplFunction(NodeId id);
  void MetatypeBase(NodeId id);
  void Add(std::string_view text) {
    if (text_.size() + text.size() > max_bytes_) failed_ = true;
    if (!failed_) text_ += text;
  }
  bool Enter() {
    constexpr size_t kMaxDepth = 200, kMaxWork = 100'000;
    if (depth_ >= kMaxDepth || ++work_ > kMaxWork) failed_ = true;
    return !failed_;
  }

  const Nodes& nodes_;
  const size_t max_bytes_;
  std::string text_;
  size_t depth_ = 0, work_ = 0;
  bool failed_ = false;
};

}  // namespace stackray::swift

#endif  // STACKRAY_SYMBOLIZER_SWIFT_SWIFT_TEXT_H_
