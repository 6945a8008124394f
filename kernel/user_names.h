// Whom a process belongs to: its effective user, by the name that the host's /etc/passwd has.
//
// Input:   passwd may hold anything: lines of kMostNameBytes and more, and lines that are none, are
//          left out, and what is behind kMostPasswdBytes is not read.
// Memory:  some 60 bytes a user.
// Threads: one owns it. Errors: none.
#ifndef STACKRAY_KERNEL_USER_NAMES_H_
#define STACKRAY_KERNEL_USER_NAMES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace stackray {

inline constexpr size_t kMostPasswdBytes = size_t{1} << 20, kMostNameBytes = 256;

// Names by user id; of several with one id the first counts.
std::map<uint32_t, std::string> ParsePasswd(std::string_view text);

// The effective user id of the text of /proc/PID/status.
std::optional<uint32_t> EffectiveUserOf(std::string_view status);

class UserNames {
 public:
  // Reads passwd where it is asked for, again once it changed: of process 1, as an agent in a
  // container has another one; where that cannot be read, its own.
  // The id in digits, as ps writes it, where it has no name; empty: the process is gone.
  std::string OfProcess(uint32_t pid);

 private:
  void Refresh();

  std::map<uint32_t, std::string> names_;
  int64_t changed_ns_ = -1, size_ = -1;  // Of the file that names_ are of.
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_USER_NAMES_H_
