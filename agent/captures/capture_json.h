// Takes a JSON object apart, key by key, so that an unknown key or a value of another kind is an
// error and never an exception.
// Input: any JSON. Errors: InvalidArgument that names the key and what was expected.
#ifndef STACKRAY_AGENT_CAPTURES_CAPTURE_JSON_H_
#define STACKRAY_AGENT_CAPTURES_CAPTURE_JSON_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace stackray {

// Remembers the first error; later reads change nothing. `json` outlives this.
class JsonFields {
 public:
  // `what` begins every error: "a capture".
  JsonFields(const nlohmann::json& json, std::string_view what);

  // A key that is not there leaves `*value` alone.
  void Read(std::string_view key, std::string* value);
  void Read(std::string_view key, bool* value);
  // Whole numbers from `least` to `most`.
  void Read(std::string_view key, int64_t least, int64_t most, int64_t* value);
  // nullptr: not there.
  const nlohmann::json* Find(std::string_view key);
  // An array of at most `most`; nullptr: not there, or an error.
  const nlohmann::json* FindList(std::string_view key, size_t most);

  void Fail(std::string_view why);
  void Take(const absl::Status& status) {
    if (status_.ok()) status_ = status;
  }
  bool ok() const { return status_.ok(); }
  // Call it last: also an error where a key was not read.
  absl::Status Finish();

 private:
  const nlohmann::json& json_;
  const std::string what_;
  std::vector<std::string_view> keys_;  // Those that were asked for.
  absl::Status status_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_CAPTURES_CAPTURE_JSON_H_
