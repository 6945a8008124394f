// Records the stack of one live thread as a fixture (recorded_walk.h).
//   recorder FOLDER [--at SYMBOL] [--until NAME] [--steps N] [--signal] -- PROGRAM ARGUMENTS…
//   recorder FOLDER --attach TID
// FOLDER gets walk.txt and gdb.txt, what gdb says at the same stop. An expected.txt that is there
// already stays: when the recording differs from it, that is printed and the exit code is 1.
//   --at      run to the program's own function SYMBOL
//   --until   from there, instruction by instruction to one whose name (NAME@plt, [vdso]) is NAME
//   --steps   from there, N instructions further
//   --signal  from there, to the delivery of a signal, kept back
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "tests/oracles/gdb_frames.h"
#include "tests/recorder/live_walk.h"
#include "tests/recorder/recorded_folder.h"

namespace stackray {
namespace {

constexpr int kMaxSteps = 5'000'000;

struct Options {
  std::string folder, at, until;
  int steps = 0, attach = 0;
  bool to_signal = false;
  std::vector<std::string> command;
};

bool ParseOptions(int count, char** arguments, Options* options) {
  if (count < 3) return false;
  options->folder = arguments[1];
  for (int i = 2; i < count; ++i) {
    const std::string flag = arguments[i];
    if (flag == "--") {
      options->command.assign(arguments + i + 1, arguments + count);
      break;
    }
    if (flag == "--signal") {
      options->to_signal = true;
      continue;
    }
    if (i + 1 == count) return false;
    const char* value = arguments[++i];
    if (flag == "--at")
      options->at = value;
    else if (flag == "--until")
      options->until = value;
    else if (flag == "--steps")
      options->steps = std::atoi(value);
    else if (flag == "--attach")
      options->attach = std::atoi(value);
    else
      return false;
  }
  return options->command.empty() != (options->attach == 0);
}

absl::Status StepUntil(StoppedThread& thread, LiveWalk& names, const std::string& wanted) {
  for (int i = 0; i < kMaxSteps; ++i) {
    absl::StatusOr<unwind_registers> registers = thread.Registers();
    if (!registers.ok()) return registers.status();
    const std::optional<code_range> range = names.FindRange(registers->pc);
    if (range &&
        (wanted == "[vdso]" ? range->kind == RANGE_VDSO : names.NameAt(registers->pc) == wanted))
      return absl::OkStatus();
    if (absl::Status status = thread.Step(); !status.ok()) return status;
  }
  return absl::NotFoundError("never came to " + wanted);
}

absl::StatusOr<StoppedThread> Stop(const Options& options) {
  if (options.attach != 0) return StoppedThread::Attach(options.attach);
  absl::StatusOr<StoppedThread> thread = StoppedThread::Start(options.command);
  if (!thread.ok()) return thread;
  absl::StatusOr<std::unique_ptr<LiveWalk>> names = LiveWalk::Create(*thread);
  if (!names.ok()) return names.status();
  absl::Status status;
  if (!options.at.empty()) {
    const std::optional<uint64_t> address = (*names)->FindSymbol(options.at);
    if (!address) return absl::NotFoundError("no symbol " + options.at);
    status = thread->RunTo(*address);
  }
  if (status.ok() && !options.until.empty()) status = StepUntil(*thread, **names, options.until);
  for (int i = 0; i < options.steps && status.ok(); ++i) status = thread->Step();
  if (status.ok() && options.to_signal) status = thread->RunToSignal();
  if (!status.ok()) return status;
  return thread;
}

// What gdb says of the released thread: "PC NAME" a line.
std::string AskGdb(const StoppedThread& thread) {
  const std::unique_ptr<test::GdbFrames> gdb = test::GdbFrames::Start();
  std::string frames;
  if (gdb == nullptr) return frames;
  for (const test::GdbFrame& frame :
       gdb->Ask(static_cast<uint32_t>(thread.pid()), static_cast<uint32_t>(thread.tid())))
    frames += fmt::format("{:x} {}\n", frame.pc, frame.name.empty() ? "?" : frame.name);
  return frames;
}

void WriteText(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

// Prints where gdb's frames differ from ours.
void Compare(const WalkResult& result, const std::string& gdb) {
  std::istringstream lines(gdb);
  std::vector<uint64_t> theirs;
  for (std::string line; std::getline(lines, line);)
    theirs.push_back(std::strtoull(line.c_str(), nullptr, 16));
  const std::vector<uint64_t> ours = FramePcs(result);
  for (size_t i = 0; i < std::max(ours.size(), theirs.size()); ++i) {
    const uint64_t mine = i < ours.size() ? ours[i] : 0;
    const uint64_t its = i < theirs.size() ? theirs[i] : 0;
    if (mine != its) fmt::print("  frame {}: ours {:x}, gdb's {:x}\n", i, mine, its);
  }
}

int Run(const Options& options) {
  absl::StatusOr<StoppedThread> thread = Stop(options);
  if (!thread.ok()) {
    fmt::print(stderr, "{}: {}\n", options.folder, thread.status().ToString());
    return 1;
  }
  absl::StatusOr<std::unique_ptr<LiveWalk>> live = LiveWalk::Create(*thread);
  WalkResult result;
  absl::StatusOr<RecordedWalk> walk = live.ok() ? (*live)->Record(&result) : live.status();
  if (!walk.ok()) {
    fmt::print(stderr, "{}: {}\n", options.folder, walk.status().ToString());
    return 1;
  }
  thread->Release();
  const std::string gdb = AskGdb(*thread), frames = DescribeFrames(*walk, result);
  WriteText(options.folder + "/walk.txt", FormatWalk(*walk));
  WriteText(options.folder + "/gdb.txt", gdb);
  fmt::print("{}: {} frames, end: {}\n", options.folder.substr(options.folder.rfind('/') + 1),
             result.words.size(), EndText(result.end));
  Compare(result, gdb);
  const std::string expected_path = options.folder + "/expected.txt";
  const std::string expected = ReadText(expected_path);
  if (expected.empty()) WriteText(expected_path, frames);
  if (expected.empty() || expected == frames) return 0;
  fmt::print("  NOT AS EXPECTED:\n{}", frames);
  return 1;
}

}  // namespace
}  // namespace stackray

int main(int count, char** arguments) {
  stackray::Options options;
  if (!stackray::ParseOptions(count, arguments, &options)) {
    fmt::print(stderr, "usage: see the head of recorder.cc\n");
    return 2;
  }
  return stackray::Run(options);
}
