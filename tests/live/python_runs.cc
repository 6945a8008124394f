#include "tests/live/python_runs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "kernel/wall_clock.h"
#include "tests/live/asked_program.h"

namespace stackray::test {
namespace {

constexpr int kFirstFreeThreaded = 13;
constexpr uint64_t kStartTimeoutNs = 20'000'000'000, kAskTimeoutNs = 10'000'000'000;

// An ELF file, not one of pyenv's scripts.
bool IsProgram(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  char magic[4] = {};
  return file.read(magic, 4) && std::string(magic, 4) == "\177ELF";
}

// `  File "NAME", line N in FUNCTION`
std::optional<PythonFrame> ParseFrame(const std::string& line) {
  const std::string begin = "  File \"", middle = "\", line ";
  const size_t name_end = line.rfind(middle), in = line.rfind(" in ");
  if (!line.starts_with(begin) || name_end == std::string::npos || in == std::string::npos)
    return std::nullopt;
  return PythonFrame{.function = line.substr(in + 4),
                     .file = line.substr(begin.size(), name_end - begin.size()),
                     .line = std::atoll(line.c_str() + name_end + middle.size())};
}

// faulthandler shows 100 frames; from 3.12 on entry frames are counted among them and not shown.
constexpr int kLeastDeepFrames = 90, kPollsOfADeepDump = 300;
constexpr std::string_view kShim = "<shim>";  // 3.12 may show an entry frame, which runs no code.
constexpr std::string_view kHeader = "Stack (most recent call first):\n";
constexpr std::string_view kInvalidFrame = "  <invalid frame>\n";

// The last dump in the text, behind its header; "" without one.
std::string LastDump(const std::string& text) {
  const size_t header = text.rfind(kHeader);
  return header == std::string::npos ? "" : text.substr(header + kHeader.size());
}

bool IsWholeDump(const std::string& text) {
  return text.ends_with(kInvalidFrame) || text.ends_with(" in <module>\n") ||
         text.ends_with(" in _bootstrap\n") || text.ends_with("\n  ...\n");
}

}  // namespace

std::string PythonVersion::Name() const {
  return fmt::format("3.{}{}", minor, is_free_threaded ? "t" : "");
}

std::string PythonVersion::Word() const {
  return fmt::format("3_{}{}", minor, is_free_threaded ? "t" : "");
}

std::vector<PythonVersion> PythonVersions() {
  std::vector<PythonVersion> versions;
  for (int minor = kOldestPython; minor <= kNewestPython; ++minor) {
    versions.push_back({.minor = minor});
    if (minor >= kFirstFreeThreaded) versions.push_back({.minor = minor, .is_free_threaded = true});
  }
  return versions;
}

std::vector<std::string> FindPython(const PythonVersion& version) {
  const std::string variable =
      fmt::format("STACKRAY_PYTHON_3_{}{}", version.minor, version.is_free_threaded ? "T" : "");
  if (const char* asked = std::getenv(variable.c_str())) {
    std::istringstream words(asked);
    return {std::istream_iterator<std::string>(words), {}};
  }
  const std::string name = "python" + version.Name();
  std::vector<std::filesystem::path> places = {"/usr/bin", "/usr/local/bin"};
  const char* root = std::getenv("PYENV_ROOT");
  const char* home = std::getenv("HOME");
  const std::filesystem::path pyenv =
      root != nullptr ? root : std::filesystem::path(home == nullptr ? "/" : home) / ".pyenv";
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(pyenv / "versions", error))
    places.push_back(entry.path() / "bin");
  for (const std::filesystem::path& place : places)
    if (IsProgram(place / name)) return {std::filesystem::canonical(place / name, error).string()};
  return {};
}

bool HasJit(const std::vector<std::string>& interpreter) {
  std::vector<std::string> arguments = interpreter;
  arguments.insert(arguments.end(),
                   {"-c", "import sys; sys.exit(0 if sys._jit.is_available() else 1)"});
  TargetProgram program = TargetProgram::Start(arguments);
  const uint64_t end = BootTimeNs() + kStartTimeoutNs;
  std::optional<int> code;
  while (!(code = program.Poll()) && BootTimeNs() < end) usleep(10'000);
  return code == 0;
}

std::unique_ptr<PythonRun> PythonRun::Start(const std::vector<std::string>& interpreter,
                                            const std::string& kind) {
  const std::string dump = MakeAnswerFile();
  if (dump.empty()) return nullptr;
  const std::string script =
      std::string(STACKRAY_SOURCE_DIR) + "/tests/live/programs/python/many_shapes.py";
  std::vector<std::string> arguments = interpreter;
  arguments.insert(arguments.end(), {script, dump});
  if (!kind.empty()) arguments.push_back(kind);
  std::unique_ptr<PythonRun> run(new PythonRun(TargetProgram::Start(arguments), dump));
  // It opens the file and then knows the signal: before that, the signal would end it.
  return WaitUntilItCatches(run->pid(), SIGUSR1) ? std::move(run) : nullptr;
}

PythonRun::~PythonRun() { unlink(dump_file_.c_str()); }

std::optional<std::vector<PythonFrame>> PythonRun::ContinueAndAsk(uint32_t tid) {
  // From 3.13 on nothing follows the last frame of a deep stack: then it has to stay as it is for a
  // while.
  int unchanged = 0;
  std::string dump;
  const auto is_whole = [&](const std::string& text) {
    const std::string before = std::exchange(dump, LastDump(text));
    const bool is_deep = std::count(dump.begin(), dump.end(), '\n') >= kLeastDeepFrames;
    unchanged = is_deep && dump == before ? unchanged + 1 : 0;
    return IsWholeDump(dump) || unchanged >= kPollsOfADeepDump;
  };
  if (!AskBySignal(pid(), tid, SIGUSR1, dump_file_, kAskTimeoutNs, is_whole)) return std::nullopt;
  std::vector<PythonFrame> frames;
  std::istringstream lines(dump);
  for (std::string line; std::getline(lines, line);)
    if (std::optional<PythonFrame> frame = ParseFrame(line); frame && frame->file != kShim)
      frames.push_back(*std::move(frame));
  if (dump.ends_with(kInvalidFrame)) frames.clear();
  return frames;
}

std::string PlainName(const std::string& qualified) {
  const size_t dot = qualified.rfind('.');
  return dot == std::string::npos ? qualified : qualified.substr(dot + 1);
}

}  // namespace stackray::test
