#include "reporter/batch_message.h"

#include <limits>

#include "google/protobuf/stubs/logging.h"

namespace stackray {

bool ParseBatchMessage(std::string_view bytes,
                       opentelemetry::proto::profiles::v1development::ProfilesData* data) {
  const google::protobuf::LogSilencer silence;
  return bytes.size() <= std::numeric_limits<int32_t>::max() &&
         data->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

}  // namespace stackray
