#include "agent/daemon/page_token.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <optional>

#include "absl/strings/ascii.h"
#include "agent/history/whole_file.h"
#include "agent/web_server/secret_word.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr char kName[] = "page-token", kNewName[] = "page-token.new";
constexpr size_t kLeast = 16, kMost = 128;

std::optional<std::string> Read(int directory) {
  const UniqueFd file(openat(directory, kName, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat facts;
  if (!file.valid() || fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode) ||
      facts.st_uid != geteuid() || (facts.st_mode & 077) != 0)
    return std::nullopt;
  char text[kMost + 2];
  const ssize_t got = pread(file.get(), text, sizeof(text), 0);
  std::string_view token(text, got > 0 ? static_cast<size_t>(got) : 0);
  token = token.substr(0, token.find('\n'));
  if (!IsPageToken(token)) return std::nullopt;
  return std::string(token);
}

}  // namespace

bool IsPageToken(std::string_view text) {
  return text.size() >= kLeast && text.size() <= kMost &&
         std::ranges::all_of(
             text, [](unsigned char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; });
}

std::string MakePageToken() { return MakeSecretWord(); }

std::string PageTokenIn(int directory) {
  if (std::optional<std::string> kept = Read(directory)) return *std::move(kept);
  std::string token = MakePageToken();
  WriteWholeFile(directory, kName, kNewName, token + "\n");  // Where it fails, it is not kept.
  return token;
}

}  // namespace stackray
