// Two functions that take turns, for the same time each and called as deep as the other: a profile
// has both halves, and no stack with parts of both. The programs measure the true halves
// themselves.
//
// One program a language, 3 s of CPU time each; STACKRAY_ALTERNATING_SECONDS=12 takes so many
// seconds, and every version that is here, five at a time: all of them together need minutes of a
// machine that does nothing else.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "kernel/wall_clock.h"
#include "tests/live/perl_runs.h"
#include "tests/live/php_runs.h"
#include "tests/live/python_runs.h"
#include "tests/live/ruby_runs.h"
#include "tests/live/sampled_run.h"
#include "tests/live/target_program.h"

namespace stackray::test {
namespace {

constexpr double kFrequencyHz = 499;
constexpr uint64_t kTimeoutNs = 900'000'000'000;  // Of those side by side, on a busy machine.
constexpr size_t kSideBySide = 5;                 // One a language.
constexpr double kMostSigmas = 4;

struct Program {
  std::string name;                  // Of the language and its version.
  std::string type;                  // Of its frames.
  std::vector<std::string> command;  // Without arguments.
};

// What a program says at its end.
struct Truth {
  int64_t pid = 0;
  double left_ns = 0, right_ns = 0;
};

// Samples of one process.
struct Seen {
  int64_t left = 0, right = 0;  // Below either caller.
  int64_t mixed = 0;            // With a part of both, or a part in another's place.
  int64_t others = 0;           // The program's start, and the time between the two.
};

std::string Source(const std::string& language, const std::string& ending) {
  return fmt::format("{}/tests/live/programs/{}/alternating.{}", STACKRAY_SOURCE_DIR, language,
                     ending);
}

void Add(const std::string& name, const std::string& type, std::vector<std::string> interpreter,
         const std::string& source, std::vector<Program>* programs) {
  if (interpreter.empty()) return;
  interpreter.push_back(source);
  programs->push_back({name, type, std::move(interpreter)});
}

// Newest first.
std::vector<Program> ProgramsHere(bool all_versions) {
  std::vector<Program> all;
  std::vector<PythonVersion> pythons = PythonVersions();
  std::reverse(pythons.begin(), pythons.end());
  for (const PythonVersion& version : pythons)
    Add("python " + version.Name(), "cpython", FindPython(version), Source("python", "py"), &all);
  std::vector<std::string> rubies = RubyVersions();
  std::reverse(rubies.begin(), rubies.end());
  for (const std::string& version : rubies)
    Add("ruby " + version, "ruby", FindRuby(version), Source("ruby", "rb"), &all);
  std::vector<PhpRelease> phps = PhpReleases();
  std::reverse(phps.begin(), phps.end());
  for (const PhpRelease& release : phps)
    Add("php " + release.Name(), "php", FindPhp(release), Source("php", "php"), &all);
  std::vector<int> perls = PerlReleases();
  std::reverse(perls.begin(), perls.end());
  for (int minor : perls)
    Add(fmt::format("perl 5.{}", minor), "perl", FindPerl(minor), Source("perl", "pl"), &all);
  constexpr char kLua[] = "/usr/bin/lua5.4";
  if (access(kLua, X_OK) == 0) Add("lua 5.4", "lua", {kLua}, Source("lua", "lua"), &all);
  if (all_versions) return all;
  std::vector<Program> one_each;
  for (const Program& program : all)
    if (one_each.empty() || one_each.back().type != program.type) one_each.push_back(program);
  return one_each;
}

// "function <alternating.lua:20>" and the like: Lua's functions have no names, but lines.
std::map<std::string, std::string> NamesByLine(const std::string& path) {
  std::map<std::string, std::string> names;
  std::ifstream file(path);
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (!line.starts_with("function ")) continue;
    names[fmt::format(":{}>", number)] = line.substr(9, line.find('(') - 9);
  }
  return names;
}

// A frame's own name without its class, package or file: "left_leaf".
std::string PlainName(const DecodedFrame& frame,
                      const std::map<std::string, std::string>& names_by_line) {
  const std::string name = frame.lines.empty() ? "" : frame.lines.back().function;
  if (const size_t colon = name.rfind(':'); colon != std::string::npos && name.ends_with('>')) {
    const auto found = names_by_line.find(name.substr(colon));
    return found == names_by_line.end() ? "" : found->second;
  }
  return name.substr(name.find_last_of("#:.") + 1);
}

// Leaf first: [left_leaf | shared] left_path, or the same of the right, and nothing else of the
// five.
void Count(const SeenStack& stack, const Program& program,
           const std::map<std::string, std::string>& names_by_line, Seen* seen) {
  std::string parts;
  for (const DecodedFrame& frame : stack.user) {
    if (frame.type != program.type) continue;
    const std::string name = PlainName(frame, names_by_line);
    if (name == "left_leaf") parts += 'l';
    if (name == "right_leaf") parts += 'r';
    if (name == "shared") parts += 's';
    if (name == "left_path") parts += 'L';
    if (name == "right_path") parts += 'R';
  }
  if (parts == "lL" || parts == "sL" || parts == "L") {
    seen->left += stack.count;
  } else if (parts == "rR" || parts == "sR" || parts == "R") {
    seen->right += stack.count;
  } else {
    (parts.empty() ? seen->others : seen->mixed) += stack.count;
  }
}

// Its own pid from the start; it runs once there is a file "begin".
TargetProgram StartWaiting(const Program& program, const std::string& begin,
                           const std::string& result, const std::string& seconds) {
  std::string line = fmt::format("until [ -e {} ]; do sleep 0.1; done; exec ", begin);
  for (const std::string& word : program.command) line += "'" + word + "' ";
  return TargetProgram::Start({"sh", "-c", line + fmt::format("{} {}", result, seconds)});
}

void Judge(const Program& program, const Truth& truth, const Seen& seen) {
  const double both_ns = truth.left_ns + truth.right_ns;
  ASSERT_GT(both_ns, 0) << program.name << " did not come to its end";
  const auto samples = static_cast<double>(seen.left + seen.right);
  ASSERT_GT(samples, both_ns / 1e9 * kFrequencyHz / 2) << program.name << ": too few samples";
  const double true_share = truth.left_ns / both_ns;
  const double share = static_cast<double>(seen.left) / samples;
  const double sigma = std::sqrt(true_share * (1 - true_share) / samples);
  Measured(
      fmt::format("{}: {} and {} samples, {:.2f} % left, in truth {:.2f} %: {:+.1f} sigma; {} of "
                  "mixed stacks, {} elsewhere",
                  program.name, seen.left, seen.right, 100 * share, 100 * true_share,
                  (share - true_share) / sigma, seen.mixed, seen.others));
  EXPECT_LE(std::abs(share - true_share), kMostSigmas * sigma) << program.name;
  EXPECT_EQ(seen.mixed, 0) << program.name;
}

// Side by side. What they have seen is judged at once, so that a machine too busy for all shows
// those that came to their end.
void RunGroup(std::span<const Program> programs, const std::string& folder,
              const std::string& seconds) {
  const std::string begin = folder + "/begin";
  std::vector<TargetProgram> running;
  std::vector<uint32_t> pids;
  for (size_t i = 0; i < programs.size(); ++i) {
    running.push_back(StartWaiting(programs[i], begin, fmt::format("{}/{}", folder, i), seconds));
    pids.push_back(running.back().pid());
  }
  auto run = SampledRun::Start(kFrequencyHz, pids);
  if (!run.ok()) GTEST_SKIP() << "no BPF here: " << run.status();
  std::ofstream(begin) << "\n";
  const uint64_t end = BootTimeNs() + kTimeoutNs;
  const auto has_ended = [](TargetProgram& program) { return program.Poll().has_value(); };
  size_t ended = 0;
  while (ended < running.size() && BootTimeNs() < end) {
    (*run)->Run(200);
    ended = static_cast<size_t>(std::count_if(running.begin(), running.end(), has_ended));
  }
  (*run)->Stop();
  for (size_t i = 0; i < programs.size(); ++i) {
    Truth truth;
    std::ifstream(fmt::format("{}/{}", folder, i)) >> truth.pid >> truth.left_ns >> truth.right_ns;
    const std::map<std::string, std::string> names_by_line =
        NamesByLine(programs[i].command.back());
    Seen seen;
    for (const SeenStack& stack : (*run)->stacks())
      if (stack.pid == truth.pid) Count(stack, programs[i], names_by_line, &seen);
    Judge(programs[i], truth, seen);
  }
}

TEST(Alternating, HalvesAreHalvesAndStacksDoNotMix) {
  const char* const asked = std::getenv("STACKRAY_ALTERNATING_SECONDS");
  const std::vector<Program> programs = ProgramsHere(asked != nullptr);
  if (programs.empty()) GTEST_SKIP() << "no interpreter here";
  for (size_t first = 0; first < programs.size(); first += kSideBySide) {
    char folder[] = "/tmp/stackray-alternating-XXXXXX";
    ASSERT_NE(mkdtemp(folder), nullptr);
    RunGroup(std::span(programs).subspan(first, std::min(kSideBySide, programs.size() - first)),
             folder, asked == nullptr ? "3" : asked);
    std::error_code error;
    std::filesystem::remove_all(folder, error);
  }
}

}  // namespace
}  // namespace stackray::test
