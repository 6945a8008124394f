#include "agent/control/control_message.h"

#include <fmt/format.h>

#include <utility>

namespace stackray {
namespace {

using Json = nlohmann::json;

constexpr char kVersionKey[] = "stackray", kRequestKey[] = "request", kArgumentsKey[] = "arguments";
constexpr size_t kMostNameBytes = 64;
constexpr int kMostDepth = 16;

std::string Line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n";
}

// A discarded value where the line is no JSON, or nested deeper than any request is.
template <typename AnyJson>
AnyJson Parse(std::string_view line) {
  bool too_deep = false;
  const auto look = [&](int depth, typename AnyJson::parse_event_t, AnyJson&) {
    too_deep |= depth > kMostDepth;
    return !too_deep;
  };
  AnyJson json = AnyJson::parse(line, look, /*allow_exceptions=*/false);
  return too_deep ? AnyJson(AnyJson::value_t::discarded) : json;
}

absl::StatusCode CodeOf(std::string_view text) {
  for (int code = 1; code <= static_cast<int>(absl::StatusCode::kUnauthenticated); ++code) {
    if (absl::StatusCodeToString(static_cast<absl::StatusCode>(code)) == text)
      return static_cast<absl::StatusCode>(code);
  }
  return absl::StatusCode::kUnknown;
}

}  // namespace

absl::StatusOr<ControlRequest> ParseRequest(std::string_view line) {
  const auto json = Parse<Json>(line);
  if (!json.is_object())
    return absl::InvalidArgumentError("a request is one JSON object on one line");
  const auto version = json.find(kVersionKey);
  if (version == json.end() || !version->is_number_integer())
    return absl::InvalidArgumentError(
        fmt::format("the request lacks \"{}\": {}", kVersionKey, kControlVersion));
  if (*version != kControlVersion)
    return absl::InvalidArgumentError(fmt::format(
        "this agent speaks version {} of the protocol, the request version {}: use the stackray "
        "program that the agent was started from",
        kControlVersion, version->dump()));
  const auto name = json.find(kRequestKey);
  if (name == json.end() || !name->is_string() || name->get_ref<const std::string&>().empty() ||
      name->get_ref<const std::string&>().size() > kMostNameBytes)
    return absl::InvalidArgumentError("the request lacks a name");
  ControlRequest request{.name = name->get<std::string>()};
  if (const auto arguments = json.find(kArgumentsKey); arguments != json.end()) {
    if (!arguments->is_object())
      return absl::InvalidArgumentError("a request's arguments are a JSON object");
    request.arguments = *arguments;
  }
  return request;
}

std::string EncodeRequest(std::string_view name, const nlohmann::json& arguments) {
  nlohmann::ordered_json json = {{kVersionKey, kControlVersion}, {kRequestKey, name}};
  if (!arguments.empty()) json[kArgumentsKey] = arguments;
  return Line(json);
}

ControlAnswer ParseAnswer(std::string_view line) {
  auto json = Parse<nlohmann::ordered_json>(line);
  const bool is_object = json.is_object();
  const auto ok = is_object ? json.find("ok") : json.end();
  if (!is_object || ok == json.end() || !ok->is_boolean())
    return absl::UnavailableError("the agent's answer is not understood");
  if (ok->get<bool>()) return std::move(json["result"]);
  const auto text = [&](const char* key) {
    const auto found = json.find(key);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  return absl::Status(CodeOf(text("code")), text("error"));
}

std::string EncodeAnswer(const ControlAnswer& answer) {
  if (answer.ok()) return Line({{"ok", true}, {"result", *answer}});
  return Line({{"ok", false},
               {"code", absl::StatusCodeToString(answer.status().code())},
               {"error", std::string(answer.status().message())}});
}

}  // namespace stackray
