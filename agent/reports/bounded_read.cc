#include "agent/reports/bounded_read.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

#include "kernel/foreign/foreign_reads.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

// "/proc/12/smaps": 12 and "smaps". nullopt: a file of no process.
struct ProcessFile {
  uint32_t pid = 0;
  std::string_view name;
};
std::optional<ProcessFile> FileOfProcess(std::string_view path) {
  constexpr std::string_view kProc = "/proc/";
  if (!path.starts_with(kProc)) return std::nullopt;
  path.remove_prefix(kProc.size());
  ProcessFile file;
  const auto [end, error] = std::from_chars(path.data(), path.data() + path.size(), file.pid);
  if (error != std::errc() || end == path.data() + path.size() || *end != '/') return std::nullopt;
  file.name = path.substr(static_cast<size_t>(end - path.data()) + 1);
  return file;
}

absl::StatusOr<std::string> ReadOfProcess(const ProcessFile& file, const std::string& path,
                                          size_t most) {
  std::string text = ReadForeignText(file.pid, file.name, most);
  if (text.empty() && errno != 0) return absl::ErrnoToStatus(errno, path);
  return text;
}

absl::StatusOr<std::string> ReadOfHost(const std::string& path, size_t most) {
  const UniqueFd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file.valid()) return absl::ErrnoToStatus(errno, path);
  std::string text;
  char part[16 << 10];
  while (text.size() < most) {
    const ssize_t got = read(file.get(), part, sizeof(part));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, path);
    if (got == 0) break;
    text.append(part, static_cast<size_t>(got));
  }
  return text;
}

}  // namespace

absl::StatusOr<std::string> ReadBounded(const std::string& path, size_t most, bool* is_cut) {
  const std::optional<ProcessFile> of_process = FileOfProcess(path);
  absl::StatusOr<std::string> text =
      of_process ? ReadOfProcess(*of_process, path, most + 1) : ReadOfHost(path, most + 1);
  if (!text.ok()) return text;
  if (is_cut != nullptr) *is_cut = text->size() > most;
  if (text->size() > most) text->resize(most);
  return text;
}

std::vector<uint32_t> NumbersIn(const std::string& directory, size_t most) {
  std::vector<uint32_t> numbers;
  const std::unique_ptr<DIR, CloseDirectory> list(opendir(directory.c_str()));
  while (list != nullptr && numbers.size() < most) {
    const dirent* const entry = readdir(list.get());
    if (entry == nullptr) break;
    const std::string_view name = entry->d_name;
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) numbers.push_back(number);
  }
  std::ranges::sort(numbers);
  return numbers;
}

std::optional<uint64_t> NumberOf(const std::string& text, const std::string& key) {
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line(text.data() + at, end - at);
    at = end + 1;
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    const size_t digit = line.find_first_not_of(": \t");
    if (digit == 0 || digit == std::string_view::npos) continue;
    uint64_t number = 0;
    const auto [stop, error] =
        std::from_chars(line.data() + digit, line.data() + line.size(), number);
    if (error == std::errc()) return number;
  }
  return std::nullopt;
}

}  // namespace stackray
