#include "agent/web_server/http_server.h"

#include <fcntl.h>

#include <chrono>
#include <utility>

#include "agent/web_server/connection_stream.h"
#include "agent/web_server/request_guard.h"
#include "agent/web_server/worker_threads.h"

namespace stackray {
namespace {

constexpr size_t kWorkers = 8;
constexpr size_t kLongestQueue = 32;
constexpr int kMostRequests = 100;  // Of one connection.
constexpr std::chrono::seconds kIdle{5};

// Takes out what the library would act on but we do not want: byte ranges (a short request could
// ask for the page a thousand times over), its own compression (slow, and anew each time), bodies
// (never read, so the connection must end). Runs after the head was read and before any handler.
void Prepare(httplib::Request& request) {
  const bool takes_gzip = AcceptsGzip(request.get_header_value("Accept-Encoding"));
  for (const char* name : {"Accept-Encoding", "Range", "Expect", kTakesGzipHeader})
    request.headers.erase(name);
  request.ranges.clear();
  if (takes_gzip) request.headers.emplace(kTakesGzipHeader, "1");
}

bool MustClose(const httplib::Request& request) {
  return request.has_header("Content-Length") || request.has_header("Transfer-Encoding") ||
         (request.method != "GET" && request.method != "HEAD");
}

}  // namespace

HttpServer::HttpServer(UniqueFd listening_socket, int stop_fd) : stop_fd_(stop_fd) {
  svr_sock_ = listening_socket.release();  // The library closes it in stop().
  set_keep_alive_timeout(kIdle.count());   // Only told to clients; ServeConnection() does it.
  set_keep_alive_max_count(kMostRequests);
  new_task_queue = [this] { return new WorkerThreads(kWorkers, kLongestQueue, waiting_); };
}

void HttpServer::ServeConnection(int socket_fd) {
  ConnectionStream stream(socket_fd, stop_fd_);
  const auto hurry = [this] { return waiting_ > 0; };
  for (int left = kMostRequests; left > 0; --left) {
    if (!stream.WaitForRequest(kIdle, hurry)) return;
    bool close_after = false;
    bool head_read = false;
    bool client_closes = false;
    const bool answered =
        process_request(stream, left == 1, client_closes, [&](httplib::Request& request) {
          head_read = true;
          close_after = MustClose(request);
          Prepare(request);
          if (close_after) {  // The library repeats this in its answer.
            request.headers.erase("Connection");
            request.headers.emplace("Connection", "close");
          }
        });
    if (stream.failed()) return;
    if (!answered || !head_read || close_after || client_closes) break;
  }
  stream.Finish();
}

bool HttpServer::process_and_close_socket(socket_t socket_fd) {
  const UniqueFd owned(socket_fd);
  fcntl(socket_fd, F_SETFD, FD_CLOEXEC);  // The library's accept() does not ask for it.
  try {
    ServeConnection(socket_fd);
  } catch (
      ...) {  // Handlers' exceptions are caught before; what is left ends this connection only.
  }
  return true;
}

}  // namespace stackray
