#include "kernel/module_events.h"

#include <fmt/format.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

namespace stackray {
namespace {

constexpr uint32_t kKernelGroup = 1;  // Group 2 is udev's own.
constexpr size_t kMaxDatagramBytes = 16 << 10;
constexpr size_t kMaxModuleNameBytes = 64;  // MODULE_NAME_LEN is 56 (include/linux/module.h).
constexpr int kMaxDatagramsADrain = 10'000;
constexpr std::string_view kAdd = "add@/module/", kRemove = "remove@/module/";

}  // namespace

std::optional<CodeEvent> ParseModuleEvent(std::string_view datagram) {
  std::string_view text = datagram.substr(0, datagram.find('\0'));
  CodeEvent event;
  if (text.starts_with(kAdd)) {
    event.kind = CodeEvent::Kind::kModuleAdded;
    text.remove_prefix(kAdd.size());
  } else if (text.starts_with(kRemove)) {
    event.kind = CodeEvent::Kind::kModuleRemoved;
    text.remove_prefix(kRemove.size());
  } else {
    return std::nullopt;
  }
  if (text.empty() || text.size() > kMaxModuleNameBytes || text.find('/') != std::string_view::npos)
    return std::nullopt;
  event.name = std::string(text);
  return event;
}

absl::StatusOr<ModuleEvents> ModuleEvents::Open() {
  UniqueFd socket(
      ::socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT));
  sockaddr_nl address = {};
  address.nl_family = AF_NETLINK;
  address.nl_groups = kKernelGroup;
  if (!socket.valid() ||
      bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
    return absl::FailedPreconditionError(
        fmt::format("no reports about kernel modules: {}", strerror(errno)));
  return ModuleEvents(std::move(socket));
}

bool ModuleEvents::Drain(uint64_t time_ns, const std::function<void(CodeEvent)>& take) {
  bool intact = true;
  std::array<char, kMaxDatagramBytes> datagram;
  for (int i = 0; i < kMaxDatagramsADrain; ++i) {
    sockaddr_nl sender = {};
    socklen_t sender_bytes = sizeof(sender);
    const ssize_t n = recvfrom(socket_.get(), datagram.data(), datagram.size(), 0,
                               reinterpret_cast<sockaddr*>(&sender), &sender_bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == ENOBUFS) intact = false;  // Some did not fit; those that did follow.
    if (n < 0 && errno != ENOBUFS) return intact;
    if (n <= 0 || sender.nl_pid != 0) continue;  // Only the kernel's own.
    std::optional<CodeEvent> event = ParseModuleEvent({datagram.data(), static_cast<size_t>(n)});
    if (!event) continue;
    event->time_ns = time_ns;
    take(*std::move(event));
  }
  return intact;
}

}  // namespace stackray
