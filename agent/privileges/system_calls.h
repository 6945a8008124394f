// Which system calls an agent makes, by name, and which end it.
#ifndef STACKRAY_AGENT_PRIVILEGES_SYSTEM_CALLS_H_
#define STACKRAY_AGENT_PRIVILEGES_SYSTEM_CALLS_H_

#include <span>

namespace stackray {

// Made by stackray, glibc, gRPC, curl, OpenSSL and the modules of NSS. Not all exist on every
// machine.
std::span<const char* const> AllowedSystemCalls();

// Nothing that runs here ever makes one of these: another program, a mount, another namespace, a
// kernel module, another process's registers and memory.
std::span<const char* const> EndingSystemCalls();

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_SYSTEM_CALLS_H_
