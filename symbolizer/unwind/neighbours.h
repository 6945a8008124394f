// How many pages of unwind rows are made on each side of one that a walk has missed: code that is
// sampled is near code that will be.
//
// A page costs about 10 µs, a miss 80 µs in the kernel and as much again in user space. In a
// compiler's libraries a fifth of the pages made this way is looked into in the end; in a program
// that jumps about in a gigabyte of code one in sixty, so there only few are made.
#ifndef STACKRAY_SYMBOLIZER_UNWIND_NEIGHBOURS_H_
#define STACKRAY_SYMBOLIZER_UNWIND_NEIGHBOURS_H_

#include <algorithm>
#include <cstdint>

namespace stackray {

// Of one file. Threads: one at a time.
class Neighbours {
 public:
  // Pages of 16 KiB. Around a Go program's entry point kAtEntry have its runtime's assembler.
  static constexpr uint32_t kMost = 96, kFew = 8, kAtEntry = 32;

  // `present` of the file's pages are there; count_used() says how many of them were looked into,
  // and is asked rarely: it goes through all of them.
  template <typename CountUsed>
  uint32_t Worth(uint32_t present, const CountUsed& count_used) {
    if (present < kTellingPages) return kMost;
    if (present - std::min(present, judged_at_) >= kPagesToJudgeAgain) {
      judged_at_ = present;
      are_wasted_ = uint64_t{count_used()} * kPagesAUse < present;
    }
    return are_wasted_ ? kFew : kMost;
  }

 private:
  static constexpr uint32_t kTellingPages = 2048, kPagesToJudgeAgain = 256, kPagesAUse = 12;

  uint32_t judged_at_ = 0;
  bool are_wasted_ = false;
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_UNWIND_NEIGHBOURS_H_
