#include "kernel/kernel_modules.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "kernel/elf_notes.h"
#include "kernel/text.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr size_t kMaxNoteFileBytes = 64 << 10;

std::optional<uint64_t> ParseNumber(std::string_view text, int base) {
  if (base == 16 && text.starts_with("0x")) text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::vector<KernelModule> ParseModules(std::string_view text) {
  std::vector<KernelModule> modules;
  for (const std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> fields = Split(line, ' ');
    if (fields.size() < 6 || fields[0].empty() || fields[4] == "Unloading") continue;
    const std::optional<uint64_t> size = ParseNumber(fields[1], 10),
                                  start = ParseNumber(fields[5], 16);
    if (!size || !start || *start == 0 || *size == 0) continue;
    if (*size > std::numeric_limits<uint64_t>::max() - *start) continue;
    modules.push_back({std::string(fields[0]), *start, *size});
  }
  std::stable_sort(modules.begin(), modules.end(),
                   [](const auto& a, const auto& b) { return a.start < b.start; });
  return modules;
}

std::string ReadSmallFile(const std::string& path, size_t limit) {
  std::string text;
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return text;
  while (text.size() < limit) {
    char buffer[4096];
    const ssize_t n = read(fd.get(), buffer, std::min(sizeof(buffer), limit - text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

std::string ReadBuildIdFile(const std::string& path) {
  const std::string notes = ReadSmallFile(path, kMaxNoteFileBytes);
  return GnuBuildIdOfNotes({reinterpret_cast<const uint8_t*>(notes.data()), notes.size()});
}

std::string ReadModuleBuildId(const std::string& sys_module, std::string_view name) {
  if (name.empty() || name.front() == '.' || name.find('/') != std::string_view::npos) return {};
  return ReadBuildIdFile(sys_module + "/" + std::string(name) + "/notes/.note.gnu.build-id");
}

}  // namespace stackray
