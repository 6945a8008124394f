// What a process's service is called: the first of several sources that knows a name.
//
//   context      what the process publishes in its memory (context_reader.h)
//   environment  OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES in its environment
//   kubernetes   its workload, where its context or environment says that as k8s.… attributes
//   systemd      the unit in its cgroup's path
//   container    the container's name; its id stands last of all, because no name is worse
//   java         a JVM's main class or jar, as its command line says
//   command      what its program was called at exec(): a symbolic link's name, a script's
#ifndef STACKRAY_AGENT_SAMPLING_SERVICE_NAME_H_
#define STACKRAY_AGENT_SAMPLING_SERVICE_NAME_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/process.h"

namespace stackray {

enum class ServiceNameSource {
  kContext,
  kEnvironment,
  kKubernetes,
  kSystemd,
  kContainer,
  kJava,
  kCommand
};
using ServiceNameOrder = std::vector<ServiceNameSource>;

// Nothing for a word that names no source.
std::optional<ServiceNameSource> ServiceNameSourceOf(std::string_view word);
ServiceNameOrder DefaultServiceNameOrder();

// What the sources say; empty: nothing. `claimed` of `info` holds the attributes of context and
// environment.
struct ServiceNameFacts {
  std::string_view context, environment, unit;
  const ProcessInfo& info;
  std::function<std::string()> command;    // Asked only when its turn comes.
  std::function<std::string()> java = {};  // Asked only when its turn comes.
};
struct ChosenServiceName {
  std::string name;  // Empty: no source knows one.
  ServiceNameSource source = ServiceNameSource::kCommand;
};
ChosenServiceName ChooseServiceName(const ServiceNameOrder& order, const ServiceNameFacts& facts);
// Is it the process's own word? The unit and the container are names in its cgroup's path, which
// root has chosen as a rule (kernel/cgroup_path.h).
bool IsOwnWord(ServiceNameSource source);

// `command`: the leader's name right after exec(), at most 15 bytes, or empty; `called`: the last
// part of the path that was given to exec(), or empty. Both are the process's to choose, so they
// count only where they agree. Names that say nothing ("exe" of /proc/self/exe, a descriptor's
// number) give way to the executable's.
std::string CommandName(std::string_view command, std::string_view called,
                        std::string_view executable_path);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_SERVICE_NAME_H_
