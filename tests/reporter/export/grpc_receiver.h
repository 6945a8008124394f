// A gRPC server that answers any method as the test says, on bytes.
#ifndef STACKRAY_TESTS_REPORTER_EXPORT_GRPC_RECEIVER_H_
#define STACKRAY_TESTS_REPORTER_EXPORT_GRPC_RECEIVER_H_

#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace stackray {

struct GrpcRequest {
  std::string method;
  std::string bytes;  // Decompressed.
  std::multimap<std::string, std::string> metadata;
};

struct GrpcAnswer {
  grpc::Status status;
  std::string bytes;
  bool never = false;  // No answer until the caller gives up.
};

class GrpcReceiver : private grpc::CallbackGenericService {
 public:
  // Called from gRPC's threads, one call at a time.
  using Handler = std::function<GrpcAnswer(const GrpcRequest&)>;
  struct Options {
    uint16_t port = 0;  // 0: any.
    std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials();
    int max_request_bytes = 4 << 20;
    bool accepts_gzip = true;
  };

  GrpcReceiver(Handler handler, Options options);
  explicit GrpcReceiver(Handler handler) : GrpcReceiver(std::move(handler), Options()) {}
  ~GrpcReceiver() override;

  uint16_t port() const { return static_cast<uint16_t>(port_); }
  std::vector<GrpcRequest> requests() const;  // So far, in order of arrival.

 private:
  class Call;
  grpc::ServerGenericBidiReactor* CreateReactor(
      grpc::GenericCallbackServerContext* context) override;
  GrpcAnswer Handle(GrpcRequest request);

  const Handler handler_;
  mutable std::mutex mutex_;
  std::vector<GrpcRequest> requests_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

}  // namespace stackray

#endif  // STACKRAY_TESTS_REPORTER_EXPORT_GRPC_RECEIVER_H_
