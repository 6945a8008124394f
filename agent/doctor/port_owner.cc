#include "agent/doctor/port_owner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "agent/doctor/text.h"
#include "agent/settings/user_names.h"
#include "reporter/formats/text.h"

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

bool Holds(const fs::path& process, const std::string& socket) {
  std::error_code error;
  for (fs::directory_iterator fd(process / "fd", error), end; !error && fd != end;
       fd.increment(error)) {
    std::error_code gone;
    if (fs::read_symlink(fd->path(), gone) == socket) return true;
  }
  return false;
}

void FindProcess(uint64_t inode, PortHolder* holder) {
  const auto until = std::chrono::steady_clock::now() + kLongestLook;
  const std::string socket = fmt::format("socket:[{}]", inode);
  std::error_code error;
  for (fs::directory_iterator process("/proc", error), end; !error && process != end;
       process.increment(error)) {
    const std::optional<uint32_t> pid = Parse<uint32_t>(process->path().filename().string(), 10);
    if (std::chrono::steady_clock::now() > until) return;
    if (!pid || !Holds(process->path(), socket)) continue;
    std::string command = ReadWhole(process->path() / "comm");
    while (command.ends_with('\n')) command.pop_back();
    holder->pid = *pid;
    holder->command = PrintableText(command);
    return;
  }
}

}  // namespace

// Columns: number, local ADDRESS:PORT, remote, state (0A: listening), queues, timer, retransmits,
//          the socket's user, timeout, its inode.
std::vector<ListenerRow> Listeners(std::string_view text, uint16_t port) {
  constexpr size_t kLocal = 1, kState = 3, kUser = 7, kInode = 9;
  std::vector<ListenerRow> rows;
  for (std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> words = Split(line, ' ');
    if (words.size() <= kInode || words[kState] != "0A") continue;
    const std::string_view local = words[kLocal];
    const size_t colon = local.rfind(':');
    if (colon == std::string_view::npos || Parse<uint16_t>(local.substr(colon + 1), 16) != port)
      continue;
    const std::optional<uint64_t> inode = Parse<uint64_t>(words[kInode], 10);
    const std::optional<uid_t> uid = Parse<uid_t>(words[kUser], 10);
    if (inode && uid) rows.push_back({*inode, *uid});
  }
  return rows;
}

bool PortHolder::foreign() const { return !uid || *uid != geteuid(); }

std::string PortHolder::Text() const {
  if (!uid) return "";
  if (pid == 0) return fmt::format("a process of user {}", user);
  return foreign() ? fmt::format("{} (process {}, user {})", command, pid, user)
                   : fmt::format("{} (process {})", command, pid);
}

PortHolder FindPortHolder(uint16_t port) {
  PortHolder holder{.port = port};
  std::vector<ListenerRow> rows = Listeners(ReadWhole("/proc/net/tcp"), port);
  for (const ListenerRow& row : Listeners(ReadWhole("/proc/net/tcp6"), port)) rows.push_back(row);
  if (rows.empty()) return holder;
  const auto foreign =
      std::ranges::find_if(rows, [](const ListenerRow& row) { return row.uid != geteuid(); });
  const ListenerRow& row = foreign == rows.end() ? rows.front() : *foreign;
  holder.uid = row.uid;
  holder.user = FindUserName(row.uid).value_or(fmt::format("{}", row.uid));
  FindProcess(row.inode, &holder);
  return holder;
}

}  // namespace stackray::doctor
