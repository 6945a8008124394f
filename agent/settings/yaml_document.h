// The one document of a YAML text. Where all documents are asked for, yaml-cpp makes some without
// end of a damaged text; here nothing is read behind the begin of a second one.
#ifndef STACKRAY_AGENT_SETTINGS_YAML_DOCUMENT_H_
#define STACKRAY_AGENT_SETTINGS_YAML_DOCUMENT_H_

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <exception>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/settings/yaml_place.h"

namespace stackray {

// Null where the text holds none. `name` is the file's, for errors. Errors: InvalidArgument (a
// second document). Throws what yaml-cpp throws.
absl::StatusOr<YAML::Node> LoadYaml(const std::string& text, const std::string& name);

// What `read` makes of the document; what yaml-cpp throws on the way is an InvalidArgument with the
// place. T: what `read` returns, an absl::StatusOr.
template <typename T>
T ReadYaml(std::string_view text, const std::string& name,
           T (*read)(const YAML::Node&, const std::string&)) {
  try {
    const absl::StatusOr<YAML::Node> document = LoadYaml(std::string(text), name);
    return document.ok() ? read(*document, name) : T(document.status());
  } catch (const YAML::Exception& error) {
    return absl::InvalidArgumentError(
        fmt::format("{}: not YAML: {}", YamlPlace(name, error.mark), error.msg));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(fmt::format("{}: not YAML: {}", name, error.what()));
  }
}

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_YAML_DOCUMENT_H_
