// Messages of fixed size over a socket that keeps their borders, with descriptors beside them.
// Input:   the other end is this program too, forked; sizes and counts are checked all the same.
// Threads: any; a message is sent whole or not at all.
#ifndef STACKRAY_KERNEL_FD_MESSAGE_H_
#define STACKRAY_KERNEL_FD_MESSAGE_H_

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernel/unique_fd.h"

namespace stackray {

struct SocketPair {
  UniqueFd ours, theirs;
};
std::optional<SocketPair> MakeSocketPair();

bool SendBytes(int socket, std::span<const std::byte> bytes, std::initializer_list<int> fds);
// The descriptors that came along, at most four. nullopt: the end of the connection, or a message
// of another size.
std::optional<std::vector<UniqueFd>> ReceiveBytes(int socket, std::span<std::byte> bytes);

template <typename T>
bool SendMessage(int socket, const T& message, std::initializer_list<int> fds) {
  static_assert(std::is_trivially_copyable_v<T>);
  return SendBytes(socket, std::as_bytes(std::span(&message, 1)), fds);
}

template <typename T>
std::optional<std::vector<UniqueFd>> ReceiveMessage(int socket, T* message) {
  static_assert(std::is_trivially_copyable_v<T>);
  return ReceiveBytes(socket, std::as_writable_bytes(std::span(message, 1)));
}

}  // namespace stackray

#endif  // STACKRAY_KERNEL_FD_MESSAGE_H_
