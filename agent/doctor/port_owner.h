// Who listens on a TCP port, by /proc.
#ifndef STACKRAY_AGENT_DOCTOR_PORT_OWNER_H_
#define STACKRAY_AGENT_DOCTOR_PORT_OWNER_H_

#include <cstdint>
#include <string>
#include <string_view>

namespace stackray::doctor {

// The number of the socket that listens on `port`, in the text of /proc/net/tcp or tcp6; 0: none
// does.
uint64_t ListeningSocket(std::string_view text, uint16_t port);

// "nginx (process 12)"; empty: nobody, or it cannot be told.
std::string PortOwner(uint16_t port);

}  // namespace stackray::doctor

#endif  // STACKRAY_AGENT_DOCTOR_PORT_OWNER_H_
