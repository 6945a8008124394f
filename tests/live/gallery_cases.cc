#include "tests/live/gallery_cases.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "agent/sampling/markers.h"
#include "bpf/shared/end_reason.h"

namespace stackray::test {
namespace {

namespace fs = std::filesystem;

// How many frames of both are the same, from the leaf on.
size_t SameFrames(const GalleryStop& stop) {
  const auto [ours, theirs] = std::ranges::mismatch(
      stop.ours, stop.theirs, {}, [](const GalleryFrame& frame) { return frame.pc; },
      [](const GalleryFrame& frame) { return frame.pc; });
  return static_cast<size_t>(ours - stop.ours.begin());
}

// All of our frames from `first` on are return addresses; only a signal's trampoline and the frame
// below it, which no call left there, need not be.
bool AreReturns(const GalleryStop& stop, size_t first) {
  const auto is_below_signal = [&stop](size_t i) {
    return i == 1 ? stop.ours[0].is_trampoline : i > 1 && !stop.ours[i - 1].is_return;
  };
  for (size_t i = first; i < stop.ours.size(); ++i)
    if (!stop.ours[i].is_return && !stop.ours[i].is_trampoline && !is_below_signal(i)) return false;
  return true;
}

// Ours is a whole stack of Go's: where the oracle parts from it (a function that goes over to
// another stack, which no table describes), all of ours are return addresses and lead to where a
// goroutine or a thread begins.
bool FollowsGo(const GalleryStop& stop) {
  // morestack: the goroutine has left the thread. Inside libc: the thread's start, which has no
  // exported name.
  static constexpr std::array<std::string_view, 9> kRoots = {
      "runtime.goexit", "runtime.mcall", "runtime.clone", "runtime.rt0_go",   "_start",
      "clone3",         "__clone3",      "[libc.so.6]",   "runtime.morestack"};
  const auto is_root = [](std::string_view name) {
    if (name.ends_with(".abi0")) name.remove_suffix(std::string_view(".abi0").size());
    return std::ranges::find(kRoots, name) != kRoots.end();
  };
  if (!IsCompleteEnd(stop.end) || stop.ours.empty() || !is_root(stop.ours.back().name))
    return false;
  for (size_t i = std::max<size_t>(SameFrames(stop), 1); i + 1 < stop.ours.size(); ++i) {
    const GalleryFrame& callee = stop.ours[i - 1];
    const bool is_interrupted = !callee.is_return ||
                                callee.name.starts_with("runtime.asyncPreempt") ||
                                callee.name.starts_with("runtime.sigpanic");
    if (!stop.ours[i].is_return && !is_interrupted) return false;
  }
  return true;
}

// Where the two part, the oracle has nothing, or no return address (no executable memory, or no
// call before it), or a caller further up: it left frames out. Ours are all return addresses from
// there on, and lead to the stack's end.
bool LosesTheStack(const GalleryStop& stop) {
  const size_t same = SameFrames(stop);
  if (same == 0 || !IsCompleteEnd(stop.end) || !AreReturns(stop, same)) return false;
  if (same >= stop.theirs.size() || !stop.theirs[same].is_return) return true;
  return std::any_of(stop.ours.begin() + static_cast<ptrdiff_t>(same), stop.ours.end(),
                     [&](const GalleryFrame& frame) { return frame.pc == stop.theirs[same].pc; });
}

// LosesTheStack() of a fiber that just begins: nobody called its function.
bool LosesTheStackOrFiber(const GalleryStop& stop) {
  GalleryStop called = stop;
  for (GalleryFrame& frame : called.ours)
    if (frame.name.starts_with("run_and_") || frame.name.find("::fiber_entry<") != frame.name.npos)
      frame.is_return = true;
  return LosesTheStack(called);
}

// The oracle goes on behind a coroutine's first function, where ours end.
bool TakesTheBase(const GalleryStop& stop) {
  const size_t same = SameFrames(stop);
  return same > 0 && same == stop.ours.size() && same < stop.theirs.size() &&
         IsCompleteEnd(stop.end) && stop.ours.back().name.starts_with("run_");
}

// An exception is about to be handed to its landing pad: what the unwinding library's frame has
// saved are that frame's registers already, so both end above it.
bool InstallsLandingPad(const GalleryStop& stop) {
  const size_t same = SameFrames(stop);
  return same == stop.ours.size() && same < stop.theirs.size() && !stop.theirs[same].is_return &&
         std::any_of(stop.ours.begin(), stop.ours.end(),
                     [](const GalleryFrame& frame) { return frame.name.starts_with("_Unwind_"); });
}

bool HasNoBound(const GalleryStop& stop) {
  return stop.end == END_TOO_DEEP && stop.ours.size() >= 1024 &&
         SameFrames(stop) == stop.ours.size();
}

// The oracle's stack is ours below a signal's trampoline and its handler.
bool SignalCameIn(const GalleryStop& stop) {
  for (size_t i = 0; i + 1 < stop.theirs.size() && i < 4; ++i) {
    if (i == 0 || stop.theirs[i].is_return) continue;  // The trampoline is called by nobody.
    return std::ranges::equal(stop.ours, std::span(stop.theirs).subspan(i + 1), {},
                              &GalleryFrame::pc, &GalleryFrame::pc);
  }
  return false;
}

// The oracle's stack is ours with one frame twice: it found the leaf's caller, and at the same
// place again. Or it loses the stack.
bool RepeatsAFrame(const GalleryStop& stop) {
  const size_t same = SameFrames(stop);
  if (same == 0 || same >= stop.theirs.size() || stop.theirs[same].pc != stop.theirs[same - 1].pc)
    return LosesTheStack(stop);
  GalleryStop once = stop;
  once.theirs.erase(once.theirs.begin() + static_cast<ptrdiff_t>(same));
  return IsCompleteEnd(stop.end) && SameFrames(once) == stop.ours.size() && AreReturns(stop, same);
}

constexpr const char* kNoRules =
    "it knows no rules for this code: it stops, leaves a caller out, or takes a word for the "
    "return address that no "
    "call left there";
constexpr const char* kLosesRbx =
    "rbx holds the next frame's base, and the callee has not saved it yet: from that very push on "
    "eu-stack goes on";
constexpr const char* kNoTable =
    "it finds no table: it wants .eh_frame_hdr in a file that it can open and map by its own rules";
constexpr const char* kGoStacks =
    "it knows no way from the runtime's stack to the goroutine's, or the table that says where one "
    "ends";
constexpr const char* kLandingPad =
    "the unwinding library's frame holds the landing pad's registers already: both are lost above "
    "it";
constexpr const char* kTakesTheBase =
    "it takes the address that the coroutine's maker put on the stack for a caller's";
constexpr const char* kUnbounded = "a record holds 2,080 words, the oracle has no such bound";

constexpr std::array kErrors = {
    OracleError{"anonymous_code", "gdb", kNoRules, LosesTheStack},
    OracleError{"asm_fiber_no_cfi", "gdb", kNoRules, LosesTheStackOrFiber},
    OracleError{"asm_fiber_no_cfi", "dwfl", kNoRules, LosesTheStackOrFiber},
    OracleError{"asm_fiber_no_cfi", "libunwind", kNoRules, LosesTheStackOrFiber},
    OracleError{"asm_leaf_no_cfi", "gdb", kNoRules, LosesTheStack},
    OracleError{"asm_leaf_no_cfi", "dwfl", kNoRules, LosesTheStack},
    OracleError{"asm_leaf_no_cfi", "libunwind", kNoRules, LosesTheStack},
    OracleError{"asm_loop_no_cfi", "gdb", kNoRules, LosesTheStack},
    OracleError{"asm_loop_no_cfi", "dwfl", kNoRules, LosesTheStack},
    OracleError{"asm_loop_no_cfi", "libunwind", kNoRules, LosesTheStack},
    OracleError{"asm_realign_no_cfi", "gdb", kNoRules, LosesTheStack},
    OracleError{"asm_realign_no_cfi", "dwfl", kNoRules, LosesTheStack},
    OracleError{"asm_realign_no_cfi", "libunwind", kNoRules, LosesTheStack},
    OracleError{"boost_fiber", "gdb", kNoRules, LosesTheStackOrFiber},
    OracleError{"boost_fiber", "dwfl", "it reads on behind the fiber's first frame",
                LosesTheStackOrFiber},
    OracleError{
        "context_swap", "gdb",
        "it looks for a caller of __start_context, which makecontext() put there and nobody called",
        LosesTheStack},
    OracleError{"context_swap", "dwfl", "as gdb", LosesTheStack},
    OracleError{"context_swap", "libunwind", "it counts __start_context as a caller",
                LosesTheStack},
    OracleError{"debug_frame_only", "libunwind", kNoTable, LosesTheStack},
    OracleError{"dlopened", "gdb", "it cannot read the deleted file", LosesTheStack},
    OracleError{"dlopened", "libunwind", kNoTable, LosesTheStack},
    OracleError{"exception", "gdb", kLandingPad, InstallsLandingPad},
    OracleError{"exception", "dwfl", kLandingPad, InstallsLandingPad},
    OracleError{"exception", "libunwind", kLandingPad, InstallsLandingPad},
    OracleError{"frame_pointers_only", "dwfl",
                "it follows rbp from a leaf that has not pushed it, and misses the caller",
                LosesTheStack},
    OracleError{"frame_pointers_only", "libunwind", "as libdwfl", LosesTheStack},
    OracleError{"go_cgo", "gdb", kGoStacks, FollowsGo},
    OracleError{"go_cgo", "dwfl", kGoStacks, FollowsGo},
    OracleError{"go_cgo", "libunwind", kGoStacks, FollowsGo},
    OracleError{"go_nested_cgo", "gdb", kGoStacks, FollowsGo},
    OracleError{"go_nested_cgo", "dwfl", kGoStacks, FollowsGo},
    OracleError{"go_nested_cgo", "libunwind", kGoStacks, FollowsGo},
    OracleError{"go_pie", "gdb", kGoStacks, FollowsGo},
    OracleError{"go_pie", "dwfl", kGoStacks, FollowsGo},
    OracleError{"go_pie", "libunwind", kGoStacks, FollowsGo},
    OracleError{"go_profiled", "gdb", kGoStacks, FollowsGo},
    OracleError{"go_profiled", "dwfl", kGoStacks, FollowsGo},
    OracleError{"go_profiled", "libunwind", kGoStacks, FollowsGo},
    OracleError{"go_runtime", "gdb", kGoStacks, FollowsGo},
    OracleError{"go_runtime", "dwfl", kGoStacks, FollowsGo},
    OracleError{"go_runtime", "libunwind", kGoStacks, FollowsGo},
    OracleError{"go_stripped", "gdb", kGoStacks, FollowsGo},
    OracleError{"go_stripped", "dwfl", kGoStacks, FollowsGo},
    OracleError{"go_stripped", "libunwind", kGoStacks, FollowsGo},
    OracleError{"go_systemstack", "gdb", kGoStacks, FollowsGo},
    OracleError{"go_systemstack", "dwfl", kGoStacks, FollowsGo},
    OracleError{"go_systemstack", "libunwind", kGoStacks, FollowsGo},
    OracleError{"hand_made_base", "gdb", kTakesTheBase, TakesTheBase},
    OracleError{"hand_made_base", "dwfl", kTakesTheBase, TakesTheBase},
    OracleError{"hand_made_base", "libunwind", kTakesTheBase, TakesTheBase},
    OracleError{"lazy_binding", "dwfl", kLosesRbx, LosesTheStack},
    OracleError{"musl_dynamic", "gdb", kNoRules, LosesTheStack},
    OracleError{"musl_dynamic", "dwfl", kNoRules, LosesTheStack},
    OracleError{"musl_dynamic", "libunwind", kNoRules, LosesTheStack},
    OracleError{"musl_interrupted_call", "gdb", kNoRules, LosesTheStack},
    OracleError{"musl_interrupted_call", "dwfl", kNoRules, LosesTheStack},
    OracleError{"musl_interrupted_call", "libunwind", kNoRules, LosesTheStack},
    OracleError{"musl_signal", "gdb", kNoRules, LosesTheStack},
    OracleError{"musl_signal", "dwfl", kNoRules, LosesTheStack},
    OracleError{"musl_signal", "libunwind", kNoRules, LosesTheStack},
    OracleError{"musl_static", "gdb", kNoRules, LosesTheStack},
    OracleError{"musl_static", "dwfl", kNoRules, LosesTheStack},
    OracleError{"musl_static", "libunwind", kNoRules, LosesTheStack},
    OracleError{"musl_system_call", "gdb", kNoRules, LosesTheStack},
    OracleError{"musl_system_call", "dwfl", kNoRules, LosesTheStack},
    OracleError{"musl_system_call", "libunwind", kNoRules, LosesTheStack},
    OracleError{"nested_function", "gdb", "it knows no rules for code on the stack", LosesTheStack},
    OracleError{"nested_function", "dwfl", "it knows no rules for code on the stack",
                LosesTheStack},
    OracleError{"nested_function", "libunwind", "it knows no rules for code on the stack",
                LosesTheStack},
    OracleError{"no_tables", "gdb", kNoRules, LosesTheStack},
    OracleError{"no_tables", "dwfl", kNoRules, LosesTheStack},
    OracleError{"no_tables", "libunwind", kNoRules, LosesTheStack},
    OracleError{"no_tables_int80", "gdb", kNoRules, LosesTheStack},
    OracleError{"no_tables_int80", "dwfl", kNoRules, LosesTheStack},
    OracleError{"no_tables_int80", "libunwind", kNoRules, LosesTheStack},
    OracleError{"no_tables_system_call", "gdb", kNoRules, LosesTheStack},
    OracleError{"no_tables_system_call", "dwfl", kNoRules, LosesTheStack},
    OracleError{"no_tables_system_call", "libunwind", kNoRules, LosesTheStack},
    OracleError{"null_call", "dwfl", "it does not go on below a pc in no code", LosesTheStack},
    OracleError{"plt_no_cfi", "gdb", kNoRules, LosesTheStack},
    OracleError{"plt_no_cfi", "dwfl", kNoRules, LosesTheStack},
    OracleError{"red_zone_signal", "gdb", "the timer's signal came in between our look and its",
                SignalCameIn},
    OracleError{"retpoline", "gdb",
                "it takes the target that the thunk put on the stack for a caller", LosesTheStack},
    OracleError{"rust_abort", "gdb", kNoRules, LosesTheStack},
    OracleError{"rust_abort", "dwfl", kNoRules, LosesTheStack},
    OracleError{"rust_abort", "libunwind", kNoRules, LosesTheStack},
    OracleError{"rust_closures", "libunwind", kNoTable, LosesTheStack},
    OracleError{
        "sframe_only", "gdb",
        "it knows no rules for _start, whose only table was taken away, and goes on behind it",
        LosesTheStack},
    OracleError{"sframe_only", "libunwind", kNoTable, LosesTheStack},
    OracleError{"static", "libunwind", kNoTable, LosesTheStack},
    OracleError{"too_deep", "gdb", kUnbounded, HasNoBound},
    OracleError{"too_deep", "dwfl", kUnbounded, HasNoBound},
    OracleError{"too_deep", "libunwind", kUnbounded, HasNoBound},
    OracleError{"vdso", "libunwind", kNoTable, RepeatsAFrame},
};

}  // namespace

std::span<const OracleError> OracleErrors() { return kErrors; }

std::vector<std::string> GalleryPrograms() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(STACKRAY_SOURCE_DIR "/tests/fixtures/native"))
    if (entry.is_directory()) names.push_back(entry.path().filename());
  std::sort(names.begin(), names.end());
  return names;
}

std::string GalleryFile(const std::string& program) {
  const std::string file = STACKRAY_BINARY_DIR "/tests/fixtures/native/" + program;
  return access(file.c_str(), X_OK) == 0 ? file : "";
}

}  // namespace stackray::test
