#include "agent/doctor/port_owner.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <vector>

#include "agent/doctor/text.h"

namespace stackray::doctor {
namespace {

namespace fs = std::filesystem;

std::string ReadWhole(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

template <typename Number>
std::optional<Number> Parse(std::string_view text, int base) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::string_view word : Split(line, ' '))
    if (!word.empty()) words.push_back(word);
  return words;
}

bool Holds(const fs::path& process, const std::string& socket) {
  std::error_code error;
  for (fs::directory_iterator fd(process / "fd", error), end; !error && fd != end;
       fd.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(fd->path(), gone) == socket) return true;
  }
  return false;
}

}  // namespace

// Columns: number, local ADDRESS:PORT, remote, state (0A: listening), …, the tenth the socket's
//          inode.
uint64_t ListeningSocket(std::string_view text, uint16_t port) {
  constexpr size_t kLocal = 1, kState = 3, kInode = 9;
  for (std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = Words(line);
    if (words.size() <= kInode || words[kState] != "0A") continue;
    const std::string_view local = words[kLocal];
    const size_t colon = local.rfind(':');
    if (colon == std::string_view::npos || Parse<uint16_t>(local.substr(colon + 1), 16) != port)
      continue;
    return Parse<uint64_t>(words[kInode], 10).value_or(0);
  }
  return 0;
}

std::string PortOwner(uint16_t port) {
  uint64_t inode = ListeningSocket(ReadWhole("/proc/net/tcp"), port);
  if (inode == 0) inode = ListeningSocket(ReadWhole("/proc/net/tcp6"), port);
  if (inode == 0) return "";
  const std::string socket = fmt::format("socket:[{}]", inode);
  std::error_code error;
  for (fs::directory_iterator process("/proc", error), end; !error && process != end;
       process.increment(error)) {
    const std::string pid = process->path().filename().string();
    if (!Parse<uint32_t>(pid, 10) || !Holds(process->path(), socket)) continue;
    std::string command = ReadWhole(process->path() / "comm");
    while (command.ends_with('\n')) command.pop_back();
    return fmt::format("{} (process {})", command, pid);
  }
  return "";
}

}  // namespace stackray::doctor
