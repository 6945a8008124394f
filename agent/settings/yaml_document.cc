#include "agent/settings/yaml_document.h"

#include <yaml-cpp/eventhandler.h>

#include <optional>
#include <sstream>

namespace stackray {
namespace {

// Where a document's first node stands.
class FirstNode : public YAML::EventHandler {
 public:
  void OnDocumentStart(const YAML::Mark& mark) override { start_ = mark, node_.reset(); }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t) override { See(mark); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { See(mark); }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                const std::string&) override {
    See(mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    See(mark);
  }
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    See(mark);
  }
  void OnMapEnd() override {}

  YAML::Mark mark() const { return node_.value_or(start_); }

 private:
  void See(const YAML::Mark& mark) {
    if (!node_) node_ = mark;
  }
  YAML::Mark start_;
  std::optional<YAML::Mark> node_;
};

}  // namespace

absl::StatusOr<YAML::Node> LoadYaml(const std::string& text, const std::string& name) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  FirstNode first;
  if (!parser.HandleNextDocument(first)) return YAML::Node();
  if (parser.HandleNextDocument(first))
    return absl::InvalidArgumentError(YamlPlace(name, first.mark()) + ": a second YAML document");
  return YAML::Load(text);
}

}  // namespace stackray
