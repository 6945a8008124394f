// Why frames have no name, and the sentence that says so to a reader.
//
// Input:   names and commands of any bytes; sums saturate.
// Memory:  some 100 bytes a command, at most kMaxCommands of them.
// Threads: one thread owns an UnnamedSums; the functions are pure. Errors: none.
#ifndef STACKRAY_REPORTER_FORMATS_UNNAMED_FRAMES_H_
#define STACKRAY_REPORTER_FORMATS_UNNAMED_FRAMES_H_

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "profile/marker.h"

namespace stackray {

enum class NoName : uint8_t {
  kNamed,      // It has one.
  kJit,        // Code made at run time.
  kStripped,   // A file's code that no symbol covers.
  kFileGone,   // Code of a file that could not be read.
  kKernel,     // The kernel's.
  kLeftAlone,  // Of a process or file whose reads did not return.
  kOther,      // Code in no mapping, an interpreter's frame that could not be read.
};
inline constexpr size_t kNoNameKinds = 7;

// `type`: a frame's; `name`: of its innermost function, empty where it has none; `marker`: what it
// is instead of a frame.
NoName WhyUnnamed(std::string_view type, std::string_view name, MarkerKind marker);

class UnnamedSums {
 public:
  static constexpr size_t kMaxCommands = 64;  // Of later ones the frames alone are counted.

  void Add(NoName why, int64_t frames, std::string_view command);
  int64_t frames(NoName why) const { return frames_[static_cast<size_t>(why)]; }
  // Of NoName::kJit, by command; the frames of some may be in frames() alone.
  const std::vector<std::pair<std::string, int64_t>>& jit_commands() const { return jit_commands_; }
  // "Unnamed: …", of what is at least one per cent of `all` frames; empty where nothing is.
  // `kernel_is_hidden`: no frame of the kernel has a name.
  std::string Sentence(int64_t all, bool kernel_is_hidden) const;

 private:
  std::string JitCommands() const;

  std::array<int64_t, kNoNameKinds> frames_{};
  std::vector<std::pair<std::string, int64_t>> jit_commands_;
};

// "12.3 %", rounded down, so that "100.0 %" means all; "none" of nothing.
std::string Percent(int64_t part, int64_t whole);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_UNNAMED_FRAMES_H_
