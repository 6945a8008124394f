#include "tests/live/java_runs.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <thread>

#include "kernel/unique_fd.h"

namespace stackray::test {
namespace {

// JAVA_VERSION="17.0.15" of the file "release": 17; "1.8.0_504": 8. Debian's JDK 8 has no such
// file; its folder is called java-8-openjdk-amd64.
std::string MajorVersion(const std::filesystem::path& home) {
  std::ifstream release(home / "release");
  static const std::regex pattern("JAVA_VERSION=\"(1\\.)?([0-9]+).*");
  for (std::string line; std::getline(release, line);) {
    std::smatch match;
    if (std::regex_match(line, match, pattern)) return match[2];
  }
  static const std::regex folder("java-([0-9]+)-.*");
  const std::string name = home.filename();
  std::smatch match;
  return std::regex_match(name, match, folder) ? match[1].str() : "";
}

// Of STACKRAY_JDKS.
std::vector<Jdk> AskedJdks(const std::string& asked) {
  std::vector<Jdk> jdks;
  std::istringstream list(asked);
  for (std::string entry; std::getline(list, entry, ',');) {
    std::istringstream words(entry);
    Jdk jdk;
    for (std::string word; words >> word;) jdk.enter.push_back(word);
    if (jdk.enter.empty()) continue;
    jdk.home = jdk.enter.back();
    jdk.enter.pop_back();
    const std::string root = jdk.enter.size() > 1 ? jdk.enter[1] : "";
    jdk.version = MajorVersion(root + jdk.home);
    if (!jdk.version.empty()) jdks.push_back(std::move(jdk));
  }
  return jdks;
}

// Has the JVM listen, as `jcmd` does: a file in its /tmp, then SIGQUIT (the attach protocol,
// src/hotspot/os/posix/attachListener_posix.cpp).
std::string AttachSocket(uint32_t pid) {
  const std::string root = fmt::format("/proc/{}/root/tmp/", pid);
  const std::string socket = fmt::format("{}.java_pid{}", root, pid);
  if (access(socket.c_str(), F_OK) == 0) return socket;
  const std::string order = fmt::format("{}.attach_pid{}", root, pid);
  const UniqueFd file(open(order.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  kill(static_cast<pid_t>(pid), SIGQUIT);
  for (int i = 0; i < 500 && access(socket.c_str(), F_OK) != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  unlink(order.c_str());
  return socket;
}

std::string ThreadDump(uint32_t pid) {
  const std::string path = AttachSocket(pid);
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address = {.sun_family = AF_UNIX};
  if (path.size() >= sizeof(address.sun_path)) return "";
  std::memcpy(address.sun_path, path.c_str(), path.size());
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    return "";
  constexpr char kRequest[] = "1\0threaddump\0\0\0";  // And the literal's own NUL.
  if (write(fd.get(), kRequest, sizeof(kRequest)) != sizeof(kRequest)) return "";
  std::string answer;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(fd.get(), buffer, sizeof(buffer))) > 0;)
    answer.append(buffer, static_cast<size_t>(n));
  return answer;
}

}  // namespace

int Jdk::number() const { return std::atoi(version.c_str()); }

std::vector<std::string> Jdk::Java(const std::vector<std::string>& options) const {
  std::vector<std::string> command = enter;
  if (!command.empty() && command[0] == "chroot") command[0] = "/usr/sbin/chroot";
  command.push_back(home + "/bin/java");
  command.insert(command.end(), options.begin(), options.end());
  return command;
}

std::vector<Jdk> FindJdks() {
  if (const char* asked = std::getenv("STACKRAY_JDKS"); asked != nullptr) return AskedJdks(asked);
  std::map<int, Jdk> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/jvm", error)) {
    const std::filesystem::path& home = entry.path();
    const std::string version = MajorVersion(home);
    if (!version.empty() && access((home / "bin/java").c_str(), X_OK) == 0 &&
        access((home / "bin/jstack").c_str(), X_OK) == 0)
      found[std::atoi(version.c_str())] = {.home = home.string(), .version = version, .enter = {}};
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
  std::vector<std::string> compilers = {"javac"};
  for (const auto& entry : std::filesystem::directory_iterator("/usr/lib/jvm", error))
    compilers.push_back(entry.path().string() + "/bin/javac");
  for (const std::string& compiler : compilers) {
    const std::string command =
        fmt::format("{} --release 8 -g -d {} {} 2>/dev/null", compiler, folder, source);
    if (std::system(command.c_str()) == 0) return folder;
  }
  return "";
}

std::vector<std::string> FramesOfDump(const std::string& text) {
  // "	at java.lang.Thread.run(java.base@17.0.15/Thread.java:840)"; '/' stands for a hidden class's
  // '+'.
  static const std::regex pattern("at ([^\n(/]+)(?:/(?:0x)?[0-9a-f]+)?([^\n(]*)\\(([^\n]*)\\)");
  std::vector<std::string> frames;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), last; at != last; ++at) {
    const std::string place = (*at)[3];
    const size_t colon = place.rfind(':');
    const std::string line = colon == std::string::npos ? "0" : place.substr(colon + 1);
    frames.push_back((*at)[1].str() + (*at)[2].str() + ":" + line);
  }
  return frames;
}

std::vector<std::string> FramesOfTrace(const std::string& text) {
  static const std::regex pattern("([^\n:/]+)(?:/(?:0x)?[0-9a-f]+)?([^\n:]*):(-?[0-9]+)\n");
  std::vector<std::string> frames;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), last; at != last; ++at) {
    const std::string line = (*at)[3].str().starts_with("-") ? "0" : (*at)[3].str();
    frames.push_back((*at)[1].str() + (*at)[2].str() + ":" + line);
  }
  return frames;
}

std::vector<std::string> ThreadFrames(uint32_t pid, const std::string& thread) {
  const std::string dump = ThreadDump(pid);
  const size_t begin = dump.find(fmt::format("\n\"{}\"", thread));
  if (begin == std::string::npos) return {};
  const size_t end = dump.find("\n\n", begin);
  return FramesOfDump(dump.substr(begin, end == std::string::npos ? end : end - begin));
}

std::string WaitForLine(TalkingProgram& program, size_t from, const std::string& line,
                        int timeout_ms) {
  for (int i = 0; i < timeout_ms; ++i) {
    const std::string& heard = program.Heard();
    const size_t at = heard.find(line + "\n", from);
    if (at != std::string::npos) return heard.substr(from, at + line.size() + 1 - from);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return "";
}

}  // namespace stackray::test
