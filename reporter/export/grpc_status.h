// What a gRPC status means for a batch (OTLP's rules for retries).
#ifndef STACKRAY_REPORTER_EXPORT_GRPC_STATUS_H_
#define STACKRAY_REPORTER_EXPORT_GRPC_STATUS_H_

#include <grpcpp/support/status.h>

#include "reporter/export/transport.h"

namespace stackray {

inline constexpr int kMaxGrpcResponseBytes = 1'048'573;  // Odd on purpose: it shows in error texts.

struct GrpcOutcome {
  SendResult result;
  bool encoding_refused = false;  // The receiver cannot read the compression that was used.
};

// `status` is not OK.
GrpcOutcome JudgeGrpcStatus(const grpc::Status& status);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_GRPC_STATUS_H_
