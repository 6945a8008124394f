#include "agent/sampling/service_name.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>

#include "reporter/attribute_names.h"

namespace stackray {
namespace {

constexpr size_t kCommandBytes = 15;   // TASK_COMM_LEN without its NUL.
constexpr size_t kShortIdDigits = 12;  // As container tools show an id.

constexpr std::array<std::pair<std::string_view, ServiceNameSource>, 7> kWords = {{
    {"context", ServiceNameSource::kContext},
    {"environment", ServiceNameSource::kEnvironment},
    {"kubernetes", ServiceNameSource::kKubernetes},
    {"systemd", ServiceNameSource::kSystemd},
    {"container", ServiceNameSource::kContainer},
    {"java", ServiceNameSource::kJava},
    {"command", ServiceNameSource::kCommand},
}};

// The order of OpenTelemetry's semantic conventions 1.44 for a service without a name of its own.
constexpr std::string_view kWorkloadKeys[] = {
    "k8s.deployment.name", "k8s.replicaset.name", "k8s.statefulset.name", "k8s.daemonset.name",
    "k8s.cronjob.name",    "k8s.job.name",        "k8s.pod.name",         "k8s.container.name"};

std::string WorkloadOf(const ProcessInfo& info) {
  for (const std::string_view key : kWorkloadKeys)
    for (const auto& [name, value] : info.claimed)
      if (const auto* text = std::get_if<std::string>(&value); text != nullptr && !text->empty())
        if (name.starts_with(kClaimedPrefix) && name.substr(kClaimedPrefix.size()) == key)
          return *text;
  return {};
}

std::string NameFrom(ServiceNameSource source, const ServiceNameFacts& facts) {
  switch (source) {
    case ServiceNameSource::kContext: return std::string(facts.context);
    case ServiceNameSource::kEnvironment: return std::string(facts.environment);
    case ServiceNameSource::kKubernetes: return WorkloadOf(facts.info);
    case ServiceNameSource::kSystemd: return std::string(facts.unit);
    case ServiceNameSource::kContainer: return facts.info.container_name;
    case ServiceNameSource::kJava: return facts.java ? facts.java() : std::string();
    case ServiceNameSource::kCommand: return facts.command();
  }
  return {};
}

bool SaysNothing(std::string_view name) {
  return name.empty() || name == "exe" ||
         std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<ServiceNameSource> ServiceNameSourceOf(std::string_view word) {
  for (const auto& [name, source] : kWords)
    if (name == word) return source;
  return std::nullopt;
}

ServiceNameOrder DefaultServiceNameOrder() {
  ServiceNameOrder order;
  for (const auto& [name, source] : kWords) order.push_back(source);
  return order;
}

ChosenServiceName ChooseServiceName(const ServiceNameOrder& order, const ServiceNameFacts& facts) {
  for (const ServiceNameSource source : order)
    if (std::string name = NameFrom(source, facts); !name.empty())
      return {.name = std::move(name), .source = source};
  if (std::ranges::find(order, ServiceNameSource::kContainer) == order.end()) return {};
  return {.name = facts.info.container_id.substr(0, kShortIdDigits),
          .source = ServiceNameSource::kContainer};
}

bool IsOwnWord(ServiceNameSource source) {
  return source != ServiceNameSource::kSystemd && source != ServiceNameSource::kContainer;
}

std::string CommandName(std::string_view command, std::string_view called,
                        std::string_view executable_path) {
  const std::string_view executable = executable_path.substr(executable_path.rfind('/') + 1);
  std::string_view name = command;
  if (!called.empty() && called.starts_with(command)) name = called;
  if (name.size() == kCommandBytes && executable.starts_with(name)) name = executable;
  if (SaysNothing(name) && !executable.empty()) name = executable;
  return std::string(name);
}

}  // namespace stackray
