// What a recording amounts to, counted from its batches alone: the same figures for record, explain
// and the page.
//
// Everything is counted in events, type by type: of on-CPU samples an event is a sample, of waiting
// time a part of a wait. A sample whose only frame is a marker of lost samples counts as
// lost and nothing else. A stack has a user part when any frame is not the kernel's; whether that
// part is complete its markers say (profile/marker.h). With a marker of unknown code alone it
// reaches its start, but through code that nothing describes: such stacks are counted apart.
//
// A frame is named when its innermost function has a name of its own. A name in brackets stands for
// one that is missing (`[inode 12+0x34]`, `[kernel+0x…]`), and so does a marker in a frame's place
// (`[unknown jit]`): such frames are unnamed. Markers of what is cut or lost are no frames.
// The user part of a process outside the recorder's pid namespace, whose files could not be opened,
// is counted apart, with its frames.
#ifndef STACKRAY_REPORTER_FORMATS_PROFILE_SUMMARY_H_
#define STACKRAY_REPORTER_FORMATS_PROFILE_SUMMARY_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "profile/sample_types.h"
#include "reporter/formats/batch_walk.h"
#include "reporter/formats/unnamed_frames.h"

namespace stackray {

inline constexpr size_t kWaitKinds = static_cast<size_t>(WaitKind::kPreempted) + 1;

struct ProfileSummary {
  std::string type = "samples", unit = "count";  // Any bytes.
  int64_t samples = 0;                           // Events. Lost ones not included.
  int64_t value = 0;  // What the events come to, in `unit`; lost ones are in it.
  // Of `value`, what samples say they waited for, by enum WaitKind.
  std::array<int64_t, kWaitKinds> waits{};
  int64_t lost = 0;
  int64_t processes = 0;
  int64_t outside = 0;          // Samples; their user parts are counted nowhere else.
  int64_t user_stacks = 0;      // The other samples have none: kernel threads, exec, exit.
  int64_t complete = 0;         // Of the user stacks.
  int64_t through_unknown = 0;  // Of the others: none of these is cut.
  int64_t user_frames = 0;      // A frame of a stack that stands for n samples counts n times.
  int64_t user_named = 0;
  int64_t kernel_frames = 0;
  int64_t kernel_named = 0;
  UnnamedSums unnamed;        // Why the other frames have no name.
  int64_t start_unix_ns = 0;  // Of all batches together.
  int64_t end_unix_ns = 0;
  double period_ns = 0;  // Of the first on-CPU profile that had one; 0: unknown.
  std::vector<ProfileSummary>
      others;  // Other types that have samples. Times and processes are of all.

  int64_t frames() const;
  int64_t named_frames() const;
};

// What a frame is to the summary.
struct FrameKind {
  enum Class : uint8_t {
    kUser,
    kKernel,
    kLost,
    kCut,
    kUnknown,   // A user frame of code that nothing describes.
    kOutside,   // The user stack is of a process outside the recorder's pid namespace.
    kNotThere,  // A marker that is no frame and says nothing of the user stack.
  };
  // `name`: of its innermost function; empty: none.
  FrameKind(std::string_view type, std::string_view name, MarkerKind marker);
  explicit FrameKind(const WalkedFrame& frame);

  Class is = kUser;
  NoName no_name = NoName::kNamed;
  bool named() const { return no_name == NoName::kNamed; }
};

// What one stack adds for each of its samples.
struct StackFacts {
  bool lost = false, user = false, cut = false, unknown = false, outside = false;
  uint32_t user_frames = 0, user_named = 0, kernel_frames = 0, kernel_named = 0;
  std::array<uint32_t, kNoNameKinds> unnamed{};  // By NoName.

  // For each frame; `alone`: the stack has no other.
  void Add(const FrameKind& kind, bool alone);
};

// Adds `count` samples of that stack, of a process with that command.
void AddStack(const StackFacts& stack, int64_t count, std::string_view command,
              ProfileSummary* sums);

// One summary of several, one a type: on-CPU samples first, or what there is of others.
ProfileSummary JoinSummaries(std::vector<ProfileSummary> parts);

// Threads: one thread owns it. Memory: some 100 bytes a process, at most kMaxProcesses of them.
// Input:   batches of any origin; sums saturate.
class SummaryCounter {
 public:
  static constexpr size_t kMaxProcesses = 1'000'000;  // More are not counted.
  static constexpr size_t kMaxTypes = 64;             // Of later ones nothing is.

  void Add(const BatchWalk& batch);
  ProfileSummary summary() const;

 private:
  struct Stacks;  // Of one batch.

  void AddProcess(const WalkedResource& resource);
  void AddTimes(const BatchWalk& batch);
  ProfileSummary* SumsOf(const WalkedProfile& profile);  // nullptr: a type too many.

  std::vector<ProfileSummary> sums_{1};  // By type.
  bool empty_ = true;
  int64_t start_unix_ns_ = 0, end_unix_ns_ = 0;
  absl::flat_hash_set<std::string> processes_;  // pid and creation time.
};

// For the terminal: lines without colours, each ending in a newline, e.g.
//   1,234 samples of 12 processes in 10.0 s at 99 Hz, none lost
//   user stacks: 1,180 of 1,195 complete (98.7 %), 12 more through code of no file ([unknown jit]);
//   39 samples have none frames: 20,100 of 20,300 named (99.0 %); user 99.3 %, kernel 97.8 %
//   off_cpu: 812 events, 12.345 s in all, none lost
// and UnnamedSentence(), where there is one.
std::string FormatSummary(const ProfileSummary& summary);

// What the frames without a name are and what would name them, in one sentence; empty where they
// are few: "Unnamed: 71.0 % of the frames are code made at run time (JIT), …".
std::string UnnamedSentence(const ProfileSummary& summary);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_PROFILE_SUMMARY_H_
