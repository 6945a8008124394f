// Who listens on a TCP port, by /proc.
//
// Input:   /proc/net/tcp names the socket's user, which is the kernel's word. The process's command
//          is its own word: text for people, printable whatever it was.
// Memory:  the text of /proc/net/tcp. Threads: plain functions. They look at most kLongestLook at
//          the descriptors of processes.
#ifndef STACKRAY_AGENT_DOCTOR_PORT_OWNER_H_
#define STACKRAY_AGENT_DOCTOR_PORT_OWNER_H_

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stackray::doctor {

inline constexpr std::chrono::seconds kLongestLook{2};

struct ListenerRow {
  uint64_t inode = 0;
  uid_t uid = 0;  // Who made the socket.
};

// The sockets that listen on `port`, in the text of /proc/net/tcp or tcp6.
std::vector<ListenerRow> Listeners(std::string_view text, uint16_t port);

struct PortHolder {
  uint16_t port = 0;
  std::optional<uid_t> uid;  // Nothing: none listens there, or it cannot be told.
  std::string user;          // Its name, or its number.
  uint32_t pid = 0;          // 0: not found.
  std::string command;       // Printable.

  // By another user than this process's, or nobody can say by whom.
  bool foreign() const;
  // "nginx (process 12)", "nc (process 12, user nobody)", "a process of user nobody"; empty where
  // nothing is known.
  std::string Text() const;
};

// Of several listeners one that is another user's.
PortHolder FindPortHolder(uint16_t port);

}  // namespace stackray::doctor

#endif  // STACKRAY_AGENT_DOCTOR_PORT_OWNER_H_
