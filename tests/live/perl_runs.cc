#include "tests/live/perl_runs.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <sstream>
#include <utility>

#include "kernel/wall_clock.h"
#include "tests/live/asked_program.h"

namespace stackray::test {
namespace {

constexpr uint64_t kStartTimeoutNs = 20'000'000'000, kAskTimeoutNs = 6'000'000'000;
constexpr int kDebiansMinor = 36;

// Of /usr/bin/perl; 0: none.
int MinorOfThisMachine() {
  FILE* pipe = popen("/usr/bin/perl -e 'print $] =~ /^5\\.(\\d{3})/' 2>/dev/null", "r");
  if (pipe == nullptr) return 0;
  char text[16] = {};
  const bool has_text = fgets(text, sizeof(text), pipe) != nullptr;
  pclose(pipe);
  return has_text ? std::atoi(text) : 0;
}

struct Call {
  std::string sub, file;
  int64_t line = 0;
};

// SUB, FILE and LINE with tabs between them.
std::optional<Call> ParseCall(const std::string& text) {
  const size_t file = text.find('\t'), line = text.rfind('\t');
  if (file == std::string::npos || line == file) return std::nullopt;
  Call call{.sub = text.substr(0, file),
            .file = text.substr(file + 1, line - file - 1),
            .line = std::atoll(text.c_str() + line + 1)};
  if (call.file.starts_with("(eval ")) call.file = "(eval)";
  return call;
}

// caller() says where each sub was called, a profile where each one is. The first call is that of
// the text that asks.
std::vector<PerlFrame> FramesOfCalls(const std::vector<Call>& calls) {
  std::vector<PerlFrame> frames;
  for (size_t i = 0; i < calls.size(); ++i)
    frames.push_back({.function = i + 1 < calls.size() ? calls[i + 1].sub : "{main}",
                      .file = calls[i].file,
                      .line = calls[i].line});
  return frames;
}

}  // namespace

std::vector<int> PerlReleases() {
  std::vector<int> releases;
  for (const int minor : {28, 30, 32, 34, 36, 38, 40, 42})
    if (minor == kDebiansMinor || !FindPerl(minor).empty()) releases.push_back(minor);
  return releases;
}

std::vector<std::string> FindPerl(int minor) {
  if (const char* asked = std::getenv(fmt::format("STACKRAY_PERL_5_{}", minor).c_str())) {
    std::istringstream words(asked);
    return {std::istream_iterator<std::string>(words), {}};
  }
  static const int here = MinorOfThisMachine();
  return here == minor ? std::vector<std::string>{"/usr/bin/perl"} : std::vector<std::string>{};
}

std::unique_ptr<PerlRun> PerlRun::Start(const std::vector<std::string>& interpreter,
                                        const std::string& kind) {
  const std::string answers = MakeAnswerFile();
  if (answers.empty()) return nullptr;
  std::vector<std::string> command = {"env", "LD_PRELOAD=" + ProgramPath("libperl_backtrace.so"),
                                      "PERL_BACKTRACE=" + answers};
  command.insert(command.end(), interpreter.begin(), interpreter.end());
  command.push_back(std::string(STACKRAY_SOURCE_DIR) + "/tests/live/programs/perl/many_shapes.pl");
  if (!kind.empty()) command.push_back(kind);
  std::unique_ptr<PerlRun> run(new PerlRun(TargetProgram::Start(command), answers));
  const size_t least = kind == "threads" ? 0 : 1;  // The main thread only waits for the others.
  // Until then the signal may find nothing that can answer.
  const uint64_t end = BootTimeNs() + kStartTimeoutNs;
  while (BootTimeNs() < end) {
    if (Catches(run->pid(), SIGUSR1))
      if (const auto frames = run->ContinueAndAsk(run->pid()); frames && frames->size() > least)
        return run;
    usleep(10'000);
  }
  return nullptr;
}

PerlRun::~PerlRun() { unlink(answers_.c_str()); }

std::optional<std::vector<PerlFrame>> PerlRun::ContinueAndAsk(uint32_t tid) {
  const auto is_whole = [](const std::string& text) {
    return text.ends_with("\n.\n") || text == ".\n";
  };
  const auto text = AskBySignal(pid(), tid, SIGUSR1, answers_, kAskTimeoutNs, is_whole);
  if (!text.has_value()) return std::nullopt;
  std::vector<Call> calls;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line) && line != ".";)
    if (std::optional<Call> call = ParseCall(line)) calls.push_back(*std::move(call));
  return FramesOfCalls(calls);
}

}  // namespace stackray::test
