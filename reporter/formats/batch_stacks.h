// A batch's stacks for those who keep functions by name: each location is read once, each stack
// gives its frames outermost first and what it adds to a summary.
//
// Memory:  some bytes a location and stack, for as long as the batch is added. Threads: one.
#ifndef STACKRAY_REPORTER_FORMATS_BATCH_STACKS_H_
#define STACKRAY_REPORTER_FORMATS_BATCH_STACKS_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "reporter/formats/batch_walk.h"
#include "reporter/formats/profile_summary.h"

namespace stackray {

class BatchStacks {
 public:
  // A call at a location. One without a name is called by its address. Valid during the call that
  // hands it over.
  struct Call {
    std::string_view name, type;
    std::string_view file;    // Of the program where it is known, else of the source.
    std::string_view source;  // And the line in it; 0: unknown.
    uint32_t line = 0;
    bool inlined = false;
  };
  // Gives a call the caller's number for it.
  using Intern = absl::FunctionRef<uint32_t(const Call&)>;

  explicit BatchStacks(const BatchWalk& batch);

  // Calls `enter` with the number of each frame of the stack, outermost first; `intern` for those
  // that no stack had before.
  void Read(const BatchWalk& batch, uint32_t stack, Intern intern,
            absl::FunctionRef<void(uint32_t frame)> enter);
  // Of a stack that was read.
  const StackFacts& facts(uint32_t stack) const { return facts_[stack]; }
  // The caller's numbers are others from now on.
  void Forget();

 private:
  struct Chain {  // In frame_ids_: a location's frames, outermost first.
    uint32_t first, count;
  };
  void ReadLocation(const BatchWalk& batch, uint32_t location, Intern intern);

  std::vector<Chain> chains_;  // By location.
  std::vector<FrameKind> kinds_;
  std::vector<StackFacts> facts_;  // By stack.
  std::vector<uint32_t> frame_ids_;
  std::vector<uint32_t> stack_;  // Kept for their memory.
  WalkedFrame frame_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_BATCH_STACKS_H_
