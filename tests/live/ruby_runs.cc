#include "tests/live/ruby_runs.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string_view>

#include "tests/live/asked_program.h"

namespace stackray::test {
namespace {

constexpr uint64_t kAskTimeoutNs = 3'000'000'000;
constexpr std::string_view kIn = ":in ";

// PATH:LINE:in `LABEL', from 3.4 on 'LABEL'. A C function that nothing calls has a path of somebody
// else's and no line.
std::optional<RubyFrame> ParseFrame(const std::string& line) {
  const size_t in = line.rfind(kIn);
  if (in == std::string::npos || line.size() < in + kIn.size() + 2) return std::nullopt;
  const size_t label = in + kIn.size() + 1;
  RubyFrame frame{.label = line.substr(label, line.size() - label - 1)};
  const size_t colon = in == 0 ? std::string::npos : line.rfind(':', in - 1);
  if (colon == std::string::npos) return frame;
  frame.line = std::atoll(line.c_str() + colon + 1);
  if (frame.line > 0) frame.file = line.substr(0, colon);
  return frame;
}

}  // namespace

std::string RubyTestName(const std::string& version) {
  std::string name = version;
  for (char& c : name)
    if (c == '.') c = '_';
  return name;
}

bool HasRubyJit(const std::vector<std::string>& interpreter) {
  return std::any_of(interpreter.begin(), interpreter.end(),
                     [](const std::string& word) { return word == "--yjit" || word == "--rjit"; });
}

std::vector<std::string> RubyVersions() {
  std::vector<std::string> versions;
  for (const char* version : {"2.5", "2.6", "2.7", "3.0", "3.1", "3.2", "3.3", "3.4", "4.0"})
    if (version == std::string("3.1") || !FindRuby(version).empty()) versions.push_back(version);
  return versions;
}

std::vector<std::string> FindRuby(const std::string& version) {
  if (const char* asked = std::getenv(("STACKRAY_RUBY_" + RubyTestName(version)).c_str())) {
    std::istringstream words(asked);
    return {std::istream_iterator<std::string>(words), {}};
  }
  for (const char* folder : {"/usr/bin", "/usr/local/bin"}) {
    const std::filesystem::path program = std::filesystem::path(folder) / ("ruby" + version);
    std::error_code error;
    if (std::filesystem::exists(program, error)) return {program.string()};
  }
  return {};
}

std::string RubyProgram(const std::string& name) {
  return std::string(STACKRAY_SOURCE_DIR) + "/tests/live/programs/ruby/" + name;
}

std::unique_ptr<RubyRun> RubyRun::Start(const std::vector<std::string>& interpreter,
                                        const std::string& kind) {
  const std::string answers = MakeAnswerFile();
  if (answers.empty()) return nullptr;
  std::vector<std::string> arguments = {"env", "LD_PRELOAD=" + ProgramPath("own_backtrace.so"),
                                        "STACKRAY_BACKTRACES=" + answers};
  arguments.insert(arguments.end(), interpreter.begin(), interpreter.end());
  arguments.push_back(RubyProgram("many_shapes.rb"));
  if (!kind.empty()) arguments.push_back(kind);
  std::unique_ptr<RubyRun> run(new RubyRun(TargetProgram::Start(arguments), answers));
  return WaitUntilItCatches(run->pid(), SIGUSR2) ? std::move(run) : nullptr;
}

RubyRun::~RubyRun() { unlink(answers_.c_str()); }

std::optional<RubyAnswer> RubyRun::ContinueAndAsk(uint32_t tid) {
  const auto text = AskBySignal(pid(), tid, SIGUSR2, answers_, kAskTimeoutNs,
                                [](const std::string& all) { return all.ends_with("\n.\n"); });
  if (!text.has_value()) return std::nullopt;
  RubyAnswer answer;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (line == fmt::format("= {}", tid)) answer = {};
    if (line == "collecting") answer.is_collecting = true;
    if (std::optional<RubyFrame> frame = ParseFrame(line))
      answer.frames.push_back(*std::move(frame));
  }
  return answer;
}

std::set<std::string> NamesOfShapes(const std::vector<std::string>& interpreter) {
  std::string command;
  for (const std::string& word : interpreter) command += "'" + word + "' ";
  FILE* pipe = popen((command + "'" + RubyProgram("many_shapes.rb") + "' names").c_str(), "r");
  std::set<std::string> names;
  if (pipe == nullptr) return names;
  char line[512];
  while (fgets(line, sizeof(line), pipe) != nullptr) {
    std::string name = line;
    name.erase(name.find_last_not_of('\n') + 1);
    names.insert(name);
  }
  pclose(pipe);
  return names;
}

std::string PlainLabel(const std::string& label) {
  const size_t in = label.rfind(" in ");
  const size_t begin = in == std::string::npos ? 0 : in + 4;
  // A class's name begins with a capital, or with what is not ASCII.
  const auto first = static_cast<unsigned char>(begin < label.size() ? label[begin] : 0);
  const size_t end = label.find_first_of("#.", begin);
  if (end == std::string::npos || (first < 'A' || (first > 'Z' && first < 0x80))) return label;
  return label.substr(0, begin) + label.substr(end + 1);
}

}  // namespace stackray::test
