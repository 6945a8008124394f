#include <google/protobuf/util/json_util.h>

#include "reporter/formats/foreign_formats.h"
#include "reporter/proto/profiles.pb.h"

namespace stackray {

// Ids are hexadecimal there and are read as base64 here: whoever makes a page of it needs none.
absl::StatusOr<std::string> BatchOfOtlpJson(std::string_view document) {
  opentelemetry::proto::profiles::v1development::ProfilesData data;
  google::protobuf::util::JsonParseOptions options;
  options.ignore_unknown_fields = true;
  const auto parsed = google::protobuf::util::JsonStringToMessage(
      google::protobuf::StringPiece(document.data(), document.size()), &data, options);
  if (!parsed.ok()) return absl::DataLossError("it is no OTLP document: " + parsed.ToString());
  if (!data.has_dictionary() || data.resource_profiles().empty())
    return absl::DataLossError("the JSON holds no OTLP profiles");
  return data.SerializeAsString();
}

}  // namespace stackray
