// The gallery, live: each program is stopped at random moments, and the stack must be the oracle's,
// frame by frame. Two ways of stopping: by the sampler (what BPF walked, against gdb) and by ptrace
// (the same unwinder on the host, also inside system calls, against libdwfl and libunwind).
//   STACKRAY_GALLERY_STOPS=N      stops of each kind a program; 3 without it
//   STACKRAY_GALLERY=NAME,NAME    these programs alone
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <string>
#include <string_view>

#include "agent/sampling/markers.h"
#include "kernel/process_files.h"
#include "tests/live/gallery_cases.h"
#include "tests/live/raw_stacks.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"
#include "tests/oracles/dwfl_frames.h"
#include "tests/oracles/gdb_frames.h"
#include "tests/oracles/libunwind_frames.h"
#include "tests/recorder/live_walk.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr int kStopTimeoutMs = 10'000;
constexpr int kStartTimeoutMs = 10'000;
constexpr int kUsualStops = 3;
constexpr int kMostCutSlices = 5;

int Stops() {
  const char* asked = std::getenv("STACKRAY_GALLERY_STOPS");
  return asked != nullptr ? std::atoi(asked) : kUsualStops;
}

std::vector<std::string> Programs() {
  const char* asked = std::getenv("STACKRAY_GALLERY");
  std::vector<std::string> programs = GalleryPrograms();
  if (asked != nullptr)
    std::erase_if(programs, [only = fmt::format(",{},", asked)](const std::string& name) {
      return only.find("," + name + ",") == std::string::npos;
    });
  return programs;
}

std::string Print(const GalleryStop& stop) {
  std::string text = fmt::format("our end: {}", EndName(stop.end));
  for (size_t i = 0; i < std::max(stop.ours.size(), stop.theirs.size()); ++i) {
    const GalleryFrame ours = i < stop.ours.size() ? stop.ours[i] : GalleryFrame{0, "-"};
    const GalleryFrame theirs = i < stop.theirs.size() ? stop.theirs[i] : GalleryFrame{0, "-"};
    text += fmt::format("\n  {} {:2} {:x} {} | {:x} {}", ours.pc == theirs.pc ? ' ' : '!', i,
                        ours.pc, ours.name, theirs.pc, theirs.name);
    if (i == 12 && stop.ours.size() > 20) i = stop.ours.size() - 8;
    if (i > 400) return text + "\n  …";
  }
  return text;
}

// What the stops of one program came to, for one oracle.
struct Tally {
  int stops = 0, equal = 0, complete = 0;
  uint64_t frames = 0;
  std::map<std::string, int> oracle_errors;  // By reason.
  std::vector<std::string> differences;

  void Add(const std::string& program, const char* oracle, GalleryStop stop) {
    // An oracle prints the zero that ends a stack. A leaf at address zero is a call through a null
    // pointer.
    if (stop.theirs.size() > 1 && stop.theirs.back().pc == 0 && IsCompleteEnd(stop.end))
      stop.theirs.pop_back();
    ++stops;
    frames += stop.ours.size();
    complete += IsCompleteEnd(stop.end) ? 1 : 0;
    bool same = stop.ours.size() == stop.theirs.size();
    for (size_t i = 0; same && i < stop.ours.size(); ++i)
      same = stop.ours[i].pc == stop.theirs[i].pc;
    if (same) {
      ++equal;
      return;
    }
    for (const OracleError& error : OracleErrors()) {
      if (program != error.program || std::string(oracle) != error.oracle || !error.holds(stop))
        continue;
      ++oracle_errors[error.reason];
      return;
    }
    differences.push_back(Print(stop));
  }

  std::string Text(const char* oracle) const {
    std::string text =
        fmt::format("{} of {} stops as {}, {} complete", equal, stops, oracle, complete);
    for (const auto& [reason, count] : oracle_errors)
      text += fmt::format("; {} times: {}", count, reason);
    return text;
  }
};

std::vector<GalleryFrame> Frames(const std::vector<GdbFrame>& gdb) {
  std::vector<GalleryFrame> frames;
  for (const GdbFrame& frame : gdb) frames.push_back({frame.pc, frame.name});
  return frames;
}

// Whether the pcs of a stopped process are return addresses.
class ReturnAddresses {
 public:
  explicit ReturnAddresses(pid_t pid)
      : memory_(open(fmt::format("/proc/{}/mem", pid).c_str(), O_RDONLY | O_CLOEXEC)) {
    if (auto ranges = ReadExecutableRanges(static_cast<uint32_t>(pid)); ranges.ok())
      ranges_ = *std::move(ranges);
  }
  void Mark(std::vector<GalleryFrame>* frames) const {
    for (GalleryFrame& frame : *frames) {
      frame.is_return = IsReturn(frame.pc);
      frame.is_trampoline = !frame.is_return && IsTrampoline(frame.pc);
    }
  }

 private:
  // A call is e8 and a distance, or ff /2 of 2 to 7 bytes.
  bool IsReturn(uint64_t pc) const {
    const auto covers = [pc](const code_range& range) {
      return pc > range.start && pc <= range.end;
    };
    uint8_t before[7];
    if (std::none_of(ranges_.begin(), ranges_.end(), covers) ||
        pread(memory_.get(), before, sizeof(before), static_cast<off_t>(pc - sizeof(before))) !=
            sizeof(before))
      return false;
    if (before[2] == 0xe8) return true;
    for (const int length : {2, 3, 4, 6, 7})
      if (before[7 - length] == 0xff && (before[8 - length] & 0x38) == 0x10) return true;
    return false;
  }

  // In mov $15, %eax or %rax; syscall: the C library's return from a signal handler.
  bool IsTrampoline(uint64_t pc) const {
    static constexpr std::string_view kShort("\xb8\x0f\0\0\0\x0f\x05", 7),
        kLong("\x48\xc7\xc0\x0f\0\0\0\x0f\x05", 9);
    char code[2 * kLong.size()];
    if (pc < kLong.size() ||
        pread(memory_.get(), code, sizeof(code), static_cast<off_t>(pc - kLong.size())) !=
            static_cast<ssize_t>(sizeof(code)))
      return false;
    const std::string_view text(code, sizeof(code));
    return text.find(kShort) != text.npos || text.find(kLong) != text.npos;
  }

  const UniqueFd memory_;
  std::vector<code_range> ranges_;
};

// The file that has the code, as stackray writes it where no symbol covers an address.
std::string FileAt(uint32_t pid, uint64_t pc) {
  std::ifstream maps(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(maps, line);) {
    uint64_t start = 0, end = 0;
    char dash = 0;
    std::istringstream(line) >> std::hex >> start >> dash >> end;
    if (start <= pc && pc < end) return fmt::format("[{}]", line.substr(line.rfind('/') + 1));
  }
  return "";
}

// The threads of a process and of its children.
std::vector<std::pair<pid_t, pid_t>> Threads(pid_t pid) {
  std::vector<std::pair<pid_t, pid_t>> threads;
  std::error_code ignored;
  for (const auto& task :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/task", pid), ignored)) {
    threads.emplace_back(pid, std::atoi(task.path().filename().c_str()));
    std::ifstream children(task.path() / "children");
    for (pid_t child; children >> child;)
      for (const auto& thread : Threads(child)) threads.push_back(thread);
  }
  return threads;
}

// User time of the process and of its children that have ended, in ticks.
uint64_t TicksOf(pid_t pid) {
  std::ifstream stat(fmt::format("/proc/{}/stat", pid));
  std::string text;
  std::getline(stat, text);
  const size_t name_end = text.rfind(") ");
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(text.substr(name_end + 2));
  std::string field;
  uint64_t sum = 0;
  for (int i = 3; i <= 17 && fields >> field; ++i)
    if (i >= 14) sum += std::stoull(field);  // utime, stime, cutime, cstime.
  return sum;
}

// Frames of a thread of a process that is stopped by ptrace.
using PtraceOracle = std::vector<uint64_t> (*)(pid_t pid, pid_t tid);

class Gallery : public testing::Test {
 protected:
  // Past the dynamic loader, whose stacks gdb reads before it knows the program's files.
  static bool Runs(pid_t pid) {
    for (int i = 0; i < kStartTimeoutMs / 10; ++i) {
      if (TicksOf(pid) >= 3) return true;
      usleep(10'000);
    }
    return false;
  }
  void CompareStopped(const char* name_of_oracle, PtraceOracle oracle);
  std::mt19937 random_{20260101};
};

// A stack of the host's unwinder and an oracle's, of one random thread; nullopt: it ended before we
// came.
std::optional<GalleryStop> StopByPtrace(pid_t pid, PtraceOracle oracle, std::mt19937& random) {
  const std::vector<std::pair<pid_t, pid_t>> threads = Threads(pid);
  if (threads.empty()) return std::nullopt;
  const auto [process, tid] = threads[random() % threads.size()];
  const absl::StatusOr<StoppedThread> thread = StoppedThread::Attach(tid);
  if (!thread.ok()) return std::nullopt;
  const absl::StatusOr<std::unique_ptr<LiveWalk>> live = LiveWalk::Create(*thread);
  WalkResult result;
  if (!live.ok() || !(*live)->Record(&result).ok()) return std::nullopt;
  GalleryStop stop{.end = result.end};
  for (const uint64_t pc : FramePcs(result)) stop.ours.push_back({pc, (*live)->NameAt(pc)});
  for (const uint64_t pc : oracle(process, tid)) stop.theirs.push_back({pc, ""});
  const ReturnAddresses addresses(process);
  addresses.Mark(&stop.ours);
  addresses.Mark(&stop.theirs);
  return stop;
}

TEST_F(Gallery, SampledStacksAreGdbs) {
  std::unique_ptr<RawStacks> stacks;
  const std::unique_ptr<GdbFrames> gdb = GdbFrames::Start();
  ASSERT_NE(gdb, nullptr);
  int programs = 0;
  for (const std::string& name : Programs()) {
    SCOPED_TRACE(name);
    // Its child runs, the program itself waits for it: by ptrace only.
    if (name == "vfork_child") continue;
    const std::string file = GalleryFile(name);
    if (file.empty()) {
      Measured(fmt::format("{}: skipped, it could not be built here", name));
      continue;
    }
    const TargetProgram program = TargetProgram::Start({file});
    ASSERT_NE(program.pid(), 0u);
    ASSERT_TRUE(Runs(static_cast<pid_t>(program.pid()))) << "it does not run";
    if (stacks == nullptr) {
      auto started = RawStacks::Start(kFrequencyHz, program.pid());
      if (!started.ok()) GTEST_SKIP() << "no BPF here: " << started.status();
      stacks = *std::move(started);
    } else {
      ASSERT_TRUE(stacks->Target(program.pid()).ok());
    }
    Tally tally;
    int cut_slices = 0;
    for (int i = 0; tally.stops < Stops(); ++i) {
      usleep(static_cast<useconds_t>(random_() % 10'000));
      const std::optional<RawStack> ours = stacks->StopAtSample(kStopTimeoutMs);
      ASSERT_TRUE(ours.has_value()) << "the program did not stop at a sample, stop " << i;
      // A first touch: a table was missing, and the walk went on with a slice of the stack, which
      // has no other stack in it and no code.
      if (ours->finished_here && !IsCompleteEnd(ours->end) && ++cut_slices <= kMostCutSlices) {
        kill(static_cast<pid_t>(program.pid()), SIGCONT);
        continue;
      }
      GalleryStop stop{.theirs = Frames(gdb->Ask(program.pid(), ours->tid)), .end = ours->end};
      for (const RawFrame& frame : ours->frames)
        stop.ours.push_back(
            {frame.pc, frame.name.empty() ? FileAt(program.pid(), frame.pc) : frame.name});
      ASSERT_FALSE(stop.theirs.empty()) << gdb->error();
      const ReturnAddresses addresses(static_cast<pid_t>(program.pid()));
      addresses.Mark(&stop.ours);
      addresses.Mark(&stop.theirs);
      tally.Add(name, "gdb", std::move(stop));
      kill(static_cast<pid_t>(program.pid()), SIGCONT);
    }
    ++programs;
    Measured(fmt::format("{}: {}", name, tally.Text("gdb")));
    EXPECT_TRUE(tally.differences.empty())
        << tally.differences.size() << " stops differ, the first:\n"
        << tally.differences.front();
  }
  Measured(fmt::format("{} programs", programs));
}

// Stops every program at random moments and compares with what `oracle` says there.
void Gallery::CompareStopped(const char* name_of_oracle, PtraceOracle oracle) {
  for (const std::string& name : Programs()) {
    SCOPED_TRACE(name);
    const std::string file = GalleryFile(name);
    if (file.empty()) continue;
    const TargetProgram program = TargetProgram::Start({file});
    ASSERT_NE(program.pid(), 0u);
    ASSERT_TRUE(Runs(static_cast<pid_t>(program.pid()))) << "it does not run";
    Tally tally;
    for (int tries = 0; tries < 10 * Stops() && tally.stops < Stops(); ++tries) {
      usleep(static_cast<useconds_t>(random_() % 10'000));
      std::optional<GalleryStop> stop =
          StopByPtrace(static_cast<pid_t>(program.pid()), oracle, random_);
      if (stop) tally.Add(name, name_of_oracle, *std::move(stop));
    }
    Measured(fmt::format("{}: {}", name, tally.Text(name_of_oracle)));
    EXPECT_EQ(tally.stops, Stops()) << "it could not be stopped";
    EXPECT_TRUE(tally.differences.empty())
        << tally.differences.size() << " stops differ, the first:\n"
        << tally.differences.front();
  }
}

TEST_F(Gallery, StoppedStacksAreLibdwfls) {
  CompareStopped("dwfl", [](pid_t pid, pid_t tid) { return DwflFrames(pid, tid).pcs; });
}

TEST_F(Gallery, StoppedStacksAreLibunwinds) {
  if (!HasLibunwind()) GTEST_SKIP() << "built without libunwind (libunwind-dev)";
  CompareStopped("libunwind", [](pid_t, pid_t tid) { return LibunwindFrames(tid).pcs; });
}

}  // namespace
}  // namespace stackray::test
