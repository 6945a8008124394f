// An HTTP server that answers POST requests as the test says, on bytes.
#ifndef STACKRAY_TESTS_REPORTER_EXPORT_HTTP_RECEIVER_H_
#define STACKRAY_TESTS_REPORTER_EXPORT_HTTP_RECEIVER_H_

#include <httplib.h>

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace stackray {

struct HttpRequest {
  std::string path;
  std::string bytes;  // Decompressed, where gzip was used and undamaged.
  httplib::Headers headers;
};

class HttpReceiver {
 public:
  // Called from the server's threads, one call at a time.
  using Handler = std::function<void(const HttpRequest&, httplib::Response&)>;
  struct Options {
    uint16_t port = 0;  // 0: any.
    size_t max_request_bytes = 64 << 20;
    std::string certificate_file, key_file, client_ca_file;  // With the first two: TLS.
  };

  HttpReceiver(Handler handler, const Options& options);
  explicit HttpReceiver(Handler handler) : HttpReceiver(std::move(handler), Options()) {}
  ~HttpReceiver();

  uint16_t port() const { return static_cast<uint16_t>(port_); }
  std::vector<HttpRequest> requests() const;

 private:
  const Handler handler_;
  mutable std::mutex mutex_;
  std::vector<HttpRequest> requests_;
  int port_ = 0;
  std::unique_ptr<httplib::Server> server_;
  std::thread thread_;
};

}  // namespace stackray

#endif  // STACKRAY_TESTS_REPORTER_EXPORT_HTTP_RECEIVER_H_
