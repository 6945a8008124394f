// Makes the bytes of classes (page_class.h) of what a builder holds.
//
// Memory:  16 bytes a node of the builder, and of one class at a time some 40 bytes a node of its
//          ways.
// Threads: one owns it. Errors: none. Equal rows give equal bytes.
#ifndef STACKRAY_REPORTER_PAGE_PAGE_CLASS_ENCODE_H_
#define STACKRAY_REPORTER_PAGE_PAGE_CLASS_ENCODE_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reporter/page/page_class.h"
#include "reporter/page/page_class_sums.h"
#include "reporter/page/page_index_builder.h"
#include "reporter/page/whole_tree.h"

namespace stackray {

// What each second of some rows has, as rows of a tree are written.
std::string EncodeActivity(std::vector<IndexRow> rows, int64_t first_second);

// The bit of each function's type; empty: there are more types than bits. The types are numbered
// by their first function, so a reader finds equal bits.
std::vector<TypeMask> TypeBits(const std::vector<PageFunction>& functions);

// The ways of a tree of functions (page_class.h). `values`: of nodes, each once; `of_root`: of
// stacks without a frame.
std::string PackWays(const std::vector<ViewNode>& nodes,
                     std::vector<std::pair<uint32_t, int64_t>> values, int64_t of_root);

class ClassEncoder {
 public:
  ClassEncoder(const PageIndexBuilder& from, const WholeTree& tree);

  // `rows`: of all threads of the class.
  std::string Encode(const std::vector<IndexRow>& rows, int64_t first_second);

 private:
  using Value = std::pair<uint32_t, int64_t>;  // Of a node.

  std::string EncodeTree(const std::vector<Value>& values, std::vector<uint32_t>* functions,
                         std::vector<size_t>* places);
  // Appends its total and its bytes.
  void AppendBare(const std::vector<Value>& by_function, std::string* out);

  const PageIndexBuilder& from_;
  const WholeTree& frames_;            // Each node a frame.
  std::vector<uint32_t> by_function_;  // Of nodes of `frames_`: that of `nodes_`.
  std::vector<ViewNode> nodes_;        // Each node a function.
  const WholeTree functions_;          // Of nodes_.
  std::vector<uint32_t> bare_of_;      // Of nodes_: that of `bare_nodes_`.
  std::vector<ViewNode> bare_nodes_;   // Of functions that are not native.
  const WholeTree bare_;               // Of bare_nodes_.
  TreePart frame_part_, function_part_, bare_part_;
  const std::vector<TypeMask> bits_;
  ClassSums sums_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_PAGE_PAGE_CLASS_ENCODE_H_
