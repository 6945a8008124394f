// Who may ask, and what a browser may do with the answer. Input: any bytes.
#ifndef STACKRAY_AGENT_WEB_SERVER_REQUEST_GUARD_H_
#define STACKRAY_AGENT_WEB_SERVER_REQUEST_GUARD_H_

#include <string>
#include <string_view>

namespace stackray {

// True for 127.x.y.z, localhost and [::1] with a port from 1 to 65535. Any port: a tunnel may
// change it. A name that an attacker makes resolve to 127.0.0.1 (DNS rebinding) is not among these.
bool IsLocalHost(std::string_view host_header);

// Whether an Accept-Encoding header takes gzip (its weight not 0).
bool AcceptsGzip(std::string_view accept_encoding);

// A Content-Security-Policy under which `page`, which is this program's own, runs exactly the
// inline scripts it holds now (by their SHA-256), but no element of data, talks to its own server
// alone, loads nothing from elsewhere, and is framed by nobody.
std::string ContentSecurityPolicy(std::string_view page);

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_REQUEST_GUARD_H_
