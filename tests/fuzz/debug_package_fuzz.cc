// libs: stackray_explain
// What a container says of itself: its os-release and a list of dpkg's, with any bytes in them; and
// what is answered with: a command that somebody will copy into a shell.
//
// The input, in parts that a form feed ends: os-release, a list, the list's name, the path of a
// file.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "agent/explain/debug_package.h"

namespace {

void Check(bool holds) {
  if (!holds) std::abort();
}

class Root {
 public:
  Root() {
    char pattern[] = "/tmp/stackray-package-fuzz-XXXXXX";
    Check(mkdtemp(pattern) != nullptr);
    path_ = pattern;
    std::filesystem::create_directories(path_ + "/etc");
    std::filesystem::create_directories(path_ + "/var/lib/dpkg/info");
  }
  ~Root() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string Write(const std::string& name, std::string_view text) const {
    std::ofstream(path_ + name, std::ios::binary) << text;
    return path_ + name;
  }

 private:
  std::string path_;
};

bool IsWord(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.';
  });
}

// The path is in the command as it is, if no shell could read it as anything else; or in single
// quotes.
void CheckCommand(const std::string& command, const std::string& path) {
  if (command.empty() || command.find("-dbg") != std::string::npos) return;
  std::string quoted = "'";
  for (const char c : path) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  if (command.find(quoted + "'") != std::string::npos) return;
  Check(command.find(' ' + path) != std::string::npos);
  Check(std::none_of(path.begin(), path.end(), [](unsigned char c) {
    return c <= ' ' || std::string_view("$`;&|<>()*?!#\"'\\{}[]~").find(c) != std::string::npos;
  }));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Root root;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  std::array<std::string, 4> parts;
  for (std::string& part : parts) {
    const size_t end = std::min(text.find('\f'), text.size());
    part = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  std::string name = parts[2].substr(0, 64);
  std::erase_if(name, [](char c) { return c == '/' || c == '\0'; });
  const std::string list = root.Write("/var/lib/dpkg/info/" + name + ".list", parts[1]);
  root.Write("/etc/os-release", parts[0]);
  stackray::FileUser user;
  user.reads_all = true;
  const stackray::RootedFiles files(root.path(), user);
  const std::string distribution = stackray::DistributionOf(files);
  Check(IsWord(distribution));
  const std::string first_line = parts[1].substr(0, parts[1].find('\n'));
  const auto packages = stackray::DebianPackagesOf(files, {first_line, parts[3]});
  Check(packages.size() <= 2);
  for (const auto& [path, package] : packages) Check(IsWord(package) && !package.empty());
  for (const std::string& word : {distribution, std::string("debian"), std::string("fedora"),
                                  std::string("sles"), std::string("alpine")})
    CheckCommand(stackray::DebugSymbolsCommand(word, "libx1", parts[3]), parts[3]);
  std::filesystem::remove(list);
  return 0;
}
