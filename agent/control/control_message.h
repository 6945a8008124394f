// What is asked of a running agent over its Unix socket, and what it answers: one line of JSON
// each.
//
//   {"stackray":1,"request":"status"}                                 {"ok":true,"result":{…}}
//   {"stackray":1,"request":"reload","arguments":{}}
//   {"ok":false,"code":"PERMISSION_DENIED","error":"…"}
//
// `stackray` is the protocol's version. A request with another version is refused with both
// numbers. Input: any bytes. Errors: InvalidArgument with what is wrong.
#ifndef STACKRAY_AGENT_CONTROL_CONTROL_MESSAGE_H_
#define STACKRAY_AGENT_CONTROL_CONTROL_MESSAGE_H_

#include <sys/types.h>

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace stackray {

inline constexpr int kControlVersion = 1;
inline constexpr size_t kMostRequestBytes = 64 << 10;  // Its line break included.
inline constexpr size_t kMostAnswerBytes = 16 << 20;

// Who asks, as the kernel says it of the connection (SO_PEERCRED): the process that connected.
struct ControlPeer {
  uid_t uid = static_cast<uid_t>(-1);
  pid_t pid = 0;
};

struct ControlRequest {
  std::string name;  // Never empty.
  nlohmann::json arguments = nlohmann::json::object();
  ControlPeer peer;
};

// The result, or why there is none.
using ControlAnswer = absl::StatusOr<nlohmann::ordered_json>;

// Of a line without its line break, and back. An encoded one ends with its line break.
absl::StatusOr<ControlRequest> ParseRequest(std::string_view line);
std::string EncodeRequest(std::string_view name, const nlohmann::json& arguments);
ControlAnswer ParseAnswer(std::string_view line);
std::string EncodeAnswer(const ControlAnswer& answer);

}  // namespace stackray

#endif  // STACKRAY_AGENT_CONTROL_CONTROL_MESSAGE_H_
