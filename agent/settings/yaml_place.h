// Where something stands in a YAML file, for errors.
#ifndef STACKRAY_AGENT_SETTINGS_YAML_PLACE_H_
#define STACKRAY_AGENT_SETTINGS_YAML_PLACE_H_

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace stackray {

// "stackray.yaml:3"; `name` alone where yaml-cpp does not know the line.
inline std::string YamlPlace(const std::string& name, const YAML::Mark& mark) {
  return mark.line < 0 ? name : fmt::format("{}:{}", name, mark.line + 1);  // Marks count from 0.
}

inline absl::Status WrongYaml(const std::string& name, const YAML::Node& node,
                              std::string_view what) {
  return absl::InvalidArgumentError(fmt::format("{}: {}", YamlPlace(name, node.Mark()), what));
}

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_YAML_PLACE_H_
