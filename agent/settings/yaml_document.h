// The one document of a YAML text. Where all documents are asked for, yaml-cpp makes some without
// end of a damaged text; here nothing is read behind the begin of a second one.
#ifndef STACKRAY_AGENT_SETTINGS_YAML_DOCUMENT_H_
#define STACKRAY_AGENT_SETTINGS_YAML_DOCUMENT_H_

#include <yaml-cpp/yaml.h>

#include <string>

#include "absl/status/statusor.h"

namespace stackray {

// Null where the text holds none. `name` is the file's, for errors. Errors: InvalidArgument (a
// second document). Throws what yaml-cpp throws.
absl::StatusOr<YAML::Node> LoadYaml(const std::string& text, const std::string& name);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SETTINGS_YAML_DOCUMENT_H_
