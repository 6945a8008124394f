#include "tests/live/java_runs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <regex>

namespace stackray::test {
namespace {

std::string OutputOf(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output;
  char buffer[4096];
  while (pipe != nullptr && fgets(buffer, sizeof(buffer), pipe.get()) != nullptr) output += buffer;
  return output;
}

// JAVA_VERSION="17.0.15" of the file "release": 17; "1.8.0_504": 8.
std::string MajorVersion(const std::filesystem::path& home) {
  std::ifstream release(home / "release");
  static const std::regex pattern("JAVA_VERSION=\"(1\\.)?([0-9]+).*");
  for (std::string line; std::getline(release, line);) {
    std::smatch match;
    if (std::regex_match(line, match, pattern)) return match[2];
  }
  return "";
}

}  // namespace

std::vector<Jdk> FindJdks() {
  std::map<int, Jdk> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/jvm", error)) {
    const std::filesystem::path& home = entry.path();
    const std::string version = MajorVersion(home);
    if (!version.empty() && access((home / "bin/java").c_str(), X_OK) == 0 &&
        access((home / "bin/jstack").c_str(), X_OK) == 0)
      found[std::atoi(version.c_str())] = {.home = home.string(), .version = version};
  }
  std::vector<Jdk> jdks;
  for (auto& [version, jdk] : found) jdks.push_back(jdk);
  return jdks;
}

std::string CompileJava(const std::string& name) {
  const std::string folder = std::string(STACKRAY_BINARY_DIR) + "/live_programs/java";
  const std::string source =
      fmt::format("{}/tests/live/programs/java/{}.java", STACKRAY_SOURCE_DIR, name);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  const auto made = std::filesystem::last_write_time(folder + "/" + name + ".class", error);
  if (!error && made > std::filesystem::last_write_time(source, error)) return folder;
  for (const Jdk& jdk : FindJdks()) {
    const std::string command =
        fmt::format("{}/bin/javac --release 8 -g -d {} {} 2>/dev/null", jdk.home, folder, source);
    if (std::system(command.c_str()) == 0) return folder;
  }
  return "";
}

std::vector<std::string> ThreadFrames(const Jdk& jdk, uint32_t pid, const std::string& thread) {
  const std::string dump = OutputOf(fmt::format("{}/bin/jstack {} 2>/dev/null", jdk.home, pid));
  const size_t begin = dump.find(fmt::format("\n\"{}\"", thread));
  if (begin == std::string::npos) return {};
  const size_t end = dump.find("\n\n", begin);
  const std::string part = dump.substr(begin, end == std::string::npos ? end : end - begin);
  // "	at java.lang.Thread.run(java.base@17.0.15/Thread.java:840)"; '/' stands for a hidden class's
  // '+'.
  static const std::regex pattern("at ([^\n(/]+)(?:/0x[0-9a-f]+)?([^\n(]*)\\(([^\n]*)\\)");
  std::vector<std::string> frames;
  for (std::sregex_iterator at(part.begin(), part.end(), pattern), last; at != last; ++at) {
    const std::string place = (*at)[3];
    const size_t colon = place.rfind(':');
    const std::string line = colon == std::string::npos ? "0" : place.substr(colon + 1);
    frames.push_back((*at)[1].str() + (*at)[2].str() + ":" + line);
  }
  return frames;
}

}  // namespace stackray::test
