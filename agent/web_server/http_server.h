// cpp-httplib's server on a socket of ours, with connections handled under our limits
// (connection_stream.h).
#ifndef STACKRAY_AGENT_WEB_SERVER_HTTP_SERVER_H_
#define STACKRAY_AGENT_WEB_SERVER_HTTP_SERVER_H_

#include <httplib.h>

#include <atomic>

#include "kernel/unique_fd.h"

namespace stackray {

// Set by the server itself on a request that takes gzip; a client's own header of this name is
// removed.
inline constexpr char kTakesGzipHeader[] = "Stackray-Takes-Gzip";

class HttpServer final : public httplib::Server {
 public:
  // `stop_fd` outlives this and is readable once the server is to end; then call stop().
  HttpServer(UniqueFd listening_socket, int stop_fd);

 private:
  // The library's hook for one accepted connection (its TLS server overrides it likewise). Closes
  // `socket_fd`.
  bool process_and_close_socket(socket_t socket_fd) override;
  void ServeConnection(int socket_fd);

  const int stop_fd_;
  std::atomic<size_t> waiting_{0};
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_HTTP_SERVER_H_
