#include "tests/reporter/export/http_receiver.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace stackray {

HttpReceiver::HttpReceiver(Handler handler, const Options& options) : handler_(std::move(handler)) {
  if (options.certificate_file.empty())
    server_ = std::make_unique<httplib::Server>();
  else
    server_ = std::make_unique<httplib::SSLServer>(
        options.certificate_file.c_str(), options.key_file.c_str(),
        options.client_ca_file.empty() ? nullptr : options.client_ca_file.c_str());
  server_->set_keep_alive_timeout(1);  // stop() waits for idle connections that long.
  server_->set_payload_max_length(options.max_request_bytes);
  server_->Post(".*", [this](const httplib::Request& request, httplib::Response& response) {
    HttpRequest copy{.path = request.target, .bytes = request.body, .headers = request.headers};
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(copy));
    handler_(requests_.back(), response);
  });
  if (options.port == 0)
    port_ = server_->bind_to_any_port("127.0.0.1");
  else if (server_->bind_to_port("127.0.0.1", options.port))
    port_ = options.port;
  if (port_ <= 0) {
    std::fprintf(stderr, "HTTP cannot listen on 127.0.0.1:%u\n", options.port);
    std::abort();
  }
  thread_ = std::thread([this] { server_->listen_after_bind(); });
  while (!server_->is_running()) std::this_thread::yield();
}

HttpReceiver::~HttpReceiver() {
  server_->stop();
  thread_.join();
}

std::vector<HttpRequest> HttpReceiver::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

}  // namespace stackray
