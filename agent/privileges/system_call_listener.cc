#include "agent/privileges/system_call_listener.h"

#include <fmt/format.h>
#include <poll.h>
#include <seccomp.h>

#include <cerrno>
#include <string>

#include "agent/log.h"
#include "agent/privileges/system_call_filter.h"
#include "kernel/process_info.h"

namespace stackray {
namespace {

constexpr size_t kMostLogged = 1024;

void Log(int number, uint32_t tid) {
  LogWarning(
      fmt::format("system call {} ({}) of thread {} ({}) is not on the list of those that "
                  "stackray makes: it failed with ENOSYS. Please report it; --sandbox off "
                  "goes without the list",
                  SystemCallName(number), number, tid, ReadCommandName(tid)));
}

}  // namespace

void SystemCallListener::Answer(short events) {
  if ((events & POLLIN) == 0) {  // Everybody who was bound is gone.
    fd_.reset();
    return;
  }
  seccomp_notif* call = nullptr;
  seccomp_notif_resp* answer = nullptr;
  if (seccomp_notify_alloc(&call, &answer) != 0) {
    fd_.reset();  // The kernel answers from now on.
    return;
  }
  if (seccomp_notify_receive(fd_.get(), call) == 0) {
    answer->id = call->id;
    answer->error = -ENOSYS;
    const int number = call->data.nr;
    if (logged_.size() < kMostLogged && logged_.insert(number).second) Log(number, call->pid);
    seccomp_notify_respond(fd_.get(), answer);  // Refused where the caller is gone.
  }
  seccomp_notify_free(call, answer);
}

}  // namespace stackray
