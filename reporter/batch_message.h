// The bytes of a batch as generated message classes, for readers and checks.
#ifndef STACKRAY_REPORTER_BATCH_MESSAGE_H_
#define STACKRAY_REPORTER_BATCH_MESSAGE_H_

#include <string_view>

#include "reporter/proto/profiles.pb.h"

namespace stackray {

// False when `bytes` is not that message, has text that is not UTF-8, or is over 2 GiB. Says so in
// no other way: protobuf's own lines on standard error are held back.
bool ParseBatchMessage(std::string_view bytes,
                       opentelemetry::proto::profiles::v1development::ProfilesData* data);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_BATCH_MESSAGE_H_
