#include "tests/live/php_runs.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <utility>

#include "interpreters/php/php_layouts.h"
#include "kernel/wall_clock.h"
#include "tests/live/asked_program.h"

namespace stackray::test {
namespace {

constexpr uint64_t kStartTimeoutNs = 20'000'000'000, kAskTimeoutNs = 6'000'000'000;
constexpr std::string_view kClosure = "{closure";

// What code outside of functions is called: of the frame that asks too.
bool IsCodeOfFile(const std::string& function) {
  return function == "unknown" || function == "eval" || function.starts_with("include") ||
         function.starts_with("require");
}

struct Call {
  std::string function, file;
  int64_t line = 0;
};

// FUNCTION, FILE and LINE with tabs between them. An anonymous class has a NUL byte in its name,
// which stays.
std::optional<Call> ParseCall(const std::string& text) {
  const size_t line = text.rfind('\t');
  const size_t file = line == std::string::npos || line == 0 ? line : text.rfind('\t', line - 1);
  if (file == std::string::npos || file >= line) return std::nullopt;
  return Call{.function = text.substr(0, file),
              .file = text.substr(file + 1, line - file - 1),
              .line = std::atoll(text.c_str() + line + 1)};
}

// debug_backtrace() says where each function was called, a profile where each one is.
std::vector<PhpFrame> FramesOfCalls(const std::vector<Call>& calls) {
  std::vector<PhpFrame> frames;
  const auto function = [&](size_t call) {
    return call < calls.size() ? PlainPhpName(calls[call].function) : std::string("{main}");
  };
  // Without a frame for what asked, an internal function was asked: it has no place.
  const bool begins_in_code = !calls.empty() && IsCodeOfFile(calls.front().function);
  if (!calls.empty() && !begins_in_code) frames.push_back({.function = function(0)});
  for (size_t i = 0; i < calls.size(); ++i)
    frames.push_back({.function = function(i + 1), .file = calls[i].file, .line = calls[i].line});
  return frames;
}

// What runs many_shapes.php in several threads, with the library that the build of `php` has beside
// it; nothing without one.
std::vector<std::string> ThreadsCommand(const std::vector<std::string>& php) {
  const std::filesystem::path folder = std::filesystem::path(php.back()).parent_path();
  std::vector<std::string> command(php.begin(), php.end() - 1);
  command.push_back(ProgramPath("php_threads"));
  command.push_back((folder.parent_path() / "lib/libphp.so").string());
  return command;
}

}  // namespace

std::string PhpRelease::Name() const {
  return fmt::format("{}.{}{}", major, minor, is_thread_safe ? " zts" : "");
}

std::string PhpRelease::Word() const {
  return fmt::format("{}_{}{}", major, minor, is_thread_safe ? "_zts" : "");
}

std::vector<PhpRelease> PhpReleases() {
  constexpr PhpRelease kAll[] = {{7, 3}, {7, 4}, {8, 0}, {8, 1}, {8, 2},
                                 {8, 3}, {8, 4}, {8, 5}, {8, 6}};
  std::vector<PhpRelease> releases;
  for (PhpRelease release : kAll) {
    const bool is_debians = release.major == 8 && release.minor == 2;
    if (is_debians || !FindPhp(release).empty()) releases.push_back(release);
    release.is_thread_safe = true;
    if (!FindPhp(release).empty()) releases.push_back(release);
  }
  return releases;
}

std::vector<std::string> FindPhp(const PhpRelease& release) {
  const std::string variable = fmt::format("STACKRAY_PHP_{}_{}{}", release.major, release.minor,
                                           release.is_thread_safe ? "_ZTS" : "");
  if (const char* asked = std::getenv(variable.c_str())) {
    std::istringstream words(asked);
    return {std::istream_iterator<std::string>(words), {}};
  }
  if (release.is_thread_safe) return {};
  const std::string path = fmt::format("/usr/bin/php{}.{}", release.major, release.minor);
  return access(path.c_str(), X_OK) == 0 ? std::vector<std::string>{path}
                                         : std::vector<std::string>{};
}

std::vector<std::string> JitOptions(const std::string& kind) {
  std::vector<std::string> options = {
      "-d", "opcache.enable_cli=" + std::string(kind.empty() ? "0" : "1")};
  if (kind == "function" || kind == "tracing")
    for (const std::string& option :
         {"opcache.jit=" + kind, std::string("opcache.jit_buffer_size=32M")})
      options.insert(options.end(), {"-d", option});
  return options;
}

std::unique_ptr<PhpRun> PhpRun::Start(const PhpRelease& release,
                                      const std::vector<std::string>& interpreter,
                                      const std::vector<std::string>& options,
                                      const std::string& kind) {
  const std::string answers = MakeAnswerFile();
  if (answers.empty()) return nullptr;
  const PhpLayoutRow* row =
      FindPhpLayout(static_cast<uint32_t>(release.major), static_cast<uint32_t>(release.minor));
  const bool has_threads = kind == "threads";
  std::vector<std::string> program = has_threads ? ThreadsCommand(interpreter) : interpreter;
  std::string libraries = ProgramPath("libphp_backtrace.so");
  if (has_threads) {
    libraries += ":" + program.back();
    program.pop_back();
  }
  std::vector<std::string> command = {"env", "LD_PRELOAD=" + libraries, "PHP_BACKTRACE=" + answers};
  // What the JIT's code leaves in the loop's registers is no instruction.
  if (options.size() <= 2 && row != nullptr)
    command.push_back(fmt::format("PHP_PLACES={} {} {} {} {}", row->fields.globals_current,
                                  row->fields.frame_function, row->fields.function_instructions,
                                  row->fields.function_instruction_count,
                                  row->fields.instruction_bytes));
  command.insert(command.end(), program.begin(), program.end());
  if (!has_threads) command.insert(command.end(), options.begin(), options.end());
  command.push_back(std::string(STACKRAY_SOURCE_DIR) + "/tests/live/programs/php/many_shapes.php");
  if (!kind.empty() && !has_threads) command.push_back(kind);
  std::unique_ptr<PhpRun> run(new PhpRun(TargetProgram::Start(command), answers));
  // Until then the signal may find nothing that can answer.
  const uint64_t end = BootTimeNs() + kStartTimeoutNs;
  while (BootTimeNs() < end) {
    if (Catches(run->pid(), SIGUSR1))
      // Of several threads the main one only waits.
      if (const auto frames = run->ContinueAndAsk(run->pid());
          frames && (has_threads || frames->size() > 1))
        return run;
    usleep(10'000);
  }
  return nullptr;
}

PhpRun::~PhpRun() { unlink(answers_.c_str()); }

std::optional<std::vector<PhpFrame>> PhpRun::ContinueAndAsk(uint32_t tid) {
  const auto is_whole = [](const std::string& text) {
    return text.ends_with("\n.\n") || text == ".\n" || text == "!\n";
  };
  const auto text = AskBySignal(pid(), tid, SIGUSR1, answers_, kAskTimeoutNs, is_whole);
  if (!text.has_value() || *text == "!\n") return std::nullopt;
  std::vector<Call> calls;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line) && line != ".";)
    if (std::optional<Call> call = ParseCall(line)) calls.push_back(*std::move(call));
  return FramesOfCalls(calls);
}

std::string PlainPhpName(const std::string& function) {
  std::string name = function;
  // Behind a NUL byte, which does not print: where an anonymous class was declared.
  const size_t anonymous = name.find("@anonymous");
  const size_t member = name.rfind("::");
  if (anonymous != std::string::npos && member != std::string::npos && member > anonymous)
    name = name.substr(0, anonymous + 10) + name.substr(member);
  if (name.starts_with("require") || name.starts_with("include")) return "include";
  // A closure is called after its namespace, its class, and from 8.4 on after where it was
  // declared.
  if (name.find(kClosure) != std::string::npos) return "{closure}";
  return name;
}

}  // namespace stackray::test
