#include "kernel/user_names.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <initializer_list>
#include <utility>

#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr size_t kMostStatusBytes = 8192;
constexpr const char* kPasswdFiles[] = {"/proc/1/root/etc/passwd", "/etc/passwd"};

std::string ReadAtMost(int fd, size_t most) {
  std::string text(most, '\0');
  size_t at = 0;
  while (at < most) {
    const ssize_t got = read(fd, text.data() + at, most - at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    at += static_cast<size_t>(got);
  }
  text.resize(at);
  return text;
}

std::string_view NextPart(std::string_view* text, char end) {
  const size_t at = std::min(text->find(end), text->size());
  const std::string_view part = text->substr(0, at);
  text->remove_prefix(std::min(at + 1, text->size()));
  return part;
}

std::optional<uint32_t> Number(std::string_view digits) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return number;
}

}  // namespace

std::map<uint32_t, std::string> ParsePasswd(std::string_view text) {
  std::map<uint32_t, std::string> names;
  while (!text.empty()) {
    std::string_view line = NextPart(&text, '\n');
    if (line.empty() || line[0] == '#') continue;
    const std::string_view name = NextPart(&line, ':');
    NextPart(&line, ':');
    const std::optional<uint32_t> user = Number(NextPart(&line, ':'));
    if (user && !name.empty() && name.size() < kMostNameBytes)
      names.try_emplace(*user, std::string(name));
  }
  return names;
}

std::optional<uint32_t> EffectiveUserOf(std::string_view status) {
  while (!status.empty()) {
    std::string_view line = NextPart(&status, '\n');
    if (NextPart(&line, '\t') != "Uid:") continue;
    NextPart(&line, '\t');  // The real one.
    return Number(NextPart(&line, '\t'));
  }
  return std::nullopt;
}

void UserNames::Refresh() {
  for (const char* path : kPasswdFiles) {
    const UniqueFd fd(open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    struct stat facts = {};
    if (!fd.valid() || fstat(fd.get(), &facts) != 0 || !S_ISREG(facts.st_mode)) continue;
    const int64_t changed_ns =
        int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec;
    if (changed_ns == changed_ns_ && facts.st_size == size_) return;
    names_ = ParsePasswd(ReadAtMost(fd.get(), kMostPasswdBytes));
    changed_ns_ = changed_ns;
    size_ = facts.st_size;
    return;
  }
}

std::string UserNames::OfProcess(uint32_t pid) {
  const UniqueFd fd(open(fmt::format("/proc/{}/status", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return "";
  const std::optional<uint32_t> user = EffectiveUserOf(ReadAtMost(fd.get(), kMostStatusBytes));
  if (!user) return "";
  Refresh();
  const auto found = names_.find(*user);
  return found != names_.end() ? found->second : fmt::format("{}", *user);
}

}  // namespace stackray
