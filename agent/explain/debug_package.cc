#include "agent/explain/debug_package.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string_view>
#include <vector>

namespace stackray {
namespace {

constexpr uint64_t kMaxListsBytes = 64 << 20;
constexpr uint64_t kMaxListBytes = 8 << 20;
constexpr size_t kMaxListFiles =
    1 << 17;  // Debian's archive has half as many packages, with some files each.
constexpr uint64_t kMaxReleaseBytes = 64 << 10;
constexpr std::string_view kLists = "/var/lib/dpkg/info";
constexpr std::string_view kJava = "openjdk-";

std::string ReadText(const RootedFiles& root, const std::string& path, uint64_t limit_bytes) {
  const std::unique_ptr<FileSource> file = root.Open(path);
  if (file == nullptr) return {};
  const auto bytes = file->Read(0, file->size_bytes(), limit_bytes);
  return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : std::string();
}

// Packages list /lib/x as well as /usr/lib/x where both lead to one directory.
std::vector<std::string> NamesOf(const std::string& path) {
  constexpr std::string_view kUsr = "/usr";
  if (path.starts_with("/usr/")) return {path, path.substr(kUsr.size())};
  return {path, std::string(kUsr) + path};
}

bool IsPackageName(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.';
  });
}

// As one word of a shell's: files of a container may have any name, and the command will be copied
// into a shell.
std::string ShellWord(const std::string& path) {
  const bool is_plain = std::all_of(path.begin(), path.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("/._-+@,:=%").find(c) != std::string::npos;
  });
  if (is_plain && !path.empty()) return path;
  std::string word = "'";
  for (const char c : path) {
    if (c == '\'')
      word += "'\\''";
    else
      word += c;
  }
  return word + "'";
}

bool IsOneOf(std::string_view word, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace

std::string DistributionOf(const RootedFiles& root) {
  const std::string text = ReadText(root, "/etc/os-release", kMaxReleaseBytes);
  const size_t at = text.starts_with("ID=") ? 0 : text.find("\nID=");
  if (at == std::string::npos) return {};
  const size_t begin = text.find('=', at) + 1;
  std::string id = text.substr(begin, text.find('\n', begin) - begin);
  std::erase_if(id, [](char c) { return c == '"' || c == '\''; });
  return IsPackageName(id) ? id : std::string();
}

absl::flat_hash_map<std::string, std::string> DebianPackagesOf(
    const RootedFiles& root, const std::vector<std::string>& paths) {
  absl::flat_hash_map<std::string, std::string> path_of_name, packages;
  for (const std::string& path : paths)
    for (const std::string& name : NamesOf(path)) path_of_name[name] = path;
  uint64_t left = kMaxListsBytes;
  for (const std::string& name : root.List(std::string(kLists), kMaxListFiles)) {
    if (path_of_name.empty()) break;
    if (!name.ends_with(".list")) continue;
    const std::string package = name.substr(0, std::min(name.find(':'), name.rfind('.')));
    const std::string text = ReadText(root, fmt::format("{}/{}", kLists, name), kMaxListBytes);
    if (text.size() > left) break;
    left -= text.size();
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
      const auto found = path_of_name.find(line);
      if (found != path_of_name.end() && IsPackageName(package)) packages[found->second] = package;
    }
  }
  return packages;
}

std::string DebugSymbolsCommand(const std::string& distribution, const std::string& package,
                                const std::string& path) {
  if (IsOneOf(distribution, {"debian", "ubuntu", "linuxmint", "raspbian"})) {
    if (package.empty()) return {};
    // The C library's symbols come in the main archive, all others in the archive of debug symbols.
    if (package == "libc6") return "apt-get install libc6-dbg";
    // So do Java's, of all its packages together.
    if (const size_t end = package.find('-', kJava.size());
        package.starts_with(kJava) && end != std::string::npos)
      return fmt::format("apt-get install {}-dbg", package.substr(0, end));
    return fmt::format("apt-get install {}-dbgsym (from the archive of debug symbols)", package);
  }
  if (IsOneOf(distribution, {"fedora", "rhel", "centos", "rocky", "almalinux", "amzn"}))
    return fmt::format("dnf debuginfo-install $(rpm -qf {})", ShellWord(path));
  if (IsOneOf(distribution, {"opensuse-leap", "opensuse-tumbleweed", "sles"}))
    return fmt::format("zypper install $(rpm -qf {} --qf '%{{NAME}}')-debuginfo", ShellWord(path));
  if (distribution == "alpine")
    return fmt::format("apk add the -dbg package of the one that apk info --who-owns {} names",
                       ShellWord(path));
  return {};
}

}  // namespace stackray
