#include "kernel/cpu_changes.h"

#include <linux/filter.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace stackray {
namespace {

constexpr uint32_t kKernelEvents = 1;    // The multicast group; 2 is udevd's.
constexpr size_t kMaxEventBytes = 2048;  // UEVENT_BUFFER_SIZE of include/linux/kobject.h.
constexpr int kMostEvents = 4096;        // A call; what is left waits for the next one.
constexpr int kMaxCpus = 8192;

// Lets through what begins with an o: "online@…" and "offline@…". A host that starts containers has
// thousands of others.
bool TakeOnlyOnAndOff(int socket) {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 'o', 0, 1),
      BPF_STMT(BPF_RET | BPF_K, kMaxEventBytes),
      BPF_STMT(BPF_RET | BPF_K, 0),
  };
  const sock_fprog program = {.len = std::size(steps), .filter = steps};
  return setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0;
}

}  // namespace

std::optional<int> ChangedCpu(std::string_view event) {
  constexpr std::string_view kDevice = "@/devices/system/cpu/cpu";
  event = event.substr(0, event.find('\0'));
  const size_t at = event.find('@');
  if (at == event.npos || (event.substr(0, at) != "online" && event.substr(0, at) != "offline"))
    return std::nullopt;
  event.remove_prefix(at);
  if (!event.starts_with(kDevice)) return std::nullopt;
  event.remove_prefix(kDevice.size());
  int cpu = 0;
  const auto [end, error] = std::from_chars(event.data(), event.data() + event.size(), cpu);
  if (error != std::errc() || end != event.data() + event.size() || cpu < 0 || cpu >= kMaxCpus)
    return std::nullopt;
  return cpu;
}

CpuChanges::CpuChanges()
    : socket_(
          socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT)) {
  sockaddr_nl address = {};
  address.nl_family = AF_NETLINK;
  address.nl_groups = kKernelEvents;
  if (!socket_.valid()) return;
  if (!TakeOnlyOnAndOff(socket_.get()) ||
      bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    socket_.reset();
}

CpuChanges::Changes CpuChanges::Take() {
  Changes changes;
  if (!socket_.valid()) return changes;
  for (int i = 0; i < kMostEvents; ++i) {
    char event[kMaxEventBytes];
    sockaddr_nl from = {};
    socklen_t from_bytes = sizeof(from);
    const ssize_t bytes = recvfrom(socket_.get(), event, sizeof(event), 0,
                                   reinterpret_cast<sockaddr*>(&from), &from_bytes);
    if (bytes < 0 && errno == ENOBUFS) {
      changes.lost = true;
      continue;
    }
    if (bytes < 0) break;
    if (from.nl_pid != 0) continue;  // Not the kernel.
    const auto cpu = ChangedCpu({event, static_cast<size_t>(bytes)});
    if (cpu) changes.cpus.push_back(*cpu);
  }
  std::ranges::sort(changes.cpus);
  changes.cpus.erase(std::ranges::unique(changes.cpus).begin(), changes.cpus.end());
  return changes;
}

}  // namespace stackray
