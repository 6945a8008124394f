#include "kernel/cgroup_path.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include "kernel/text.h"

namespace stackray {
namespace {

constexpr size_t kContainerIdDigits = 64;
constexpr size_t kUuidCharacters = 36, kUuidDigits = 32;

bool IsHexDigit(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

std::optional<std::string_view> Without(std::string_view text, std::string_view prefix,
                                        std::string_view suffix) {
  if (text.size() <= prefix.size() + suffix.size() || !text.starts_with(prefix) ||
      !text.ends_with(suffix))
    return std::nullopt;
  return text.substr(prefix.size(), text.size() - prefix.size() - suffix.size());
}

// The last run of exactly 64 hex digits: "<id>", "docker-<id>.scope", "cri-containerd-<id>.scope",
// "crio-<id>", "libpod-<id>.scope", "nerdctl-<id>.scope".
std::string_view ContainerIdIn(std::string_view component) {
  if (component.find("-conmon-") != std::string_view::npos) return {};
  std::string_view id;
  size_t run = 0;
  for (size_t i = 0; i <= component.size(); ++i) {
    if (i < component.size() && IsHexDigit(component[i])) {
      ++run;
      continue;
    }
    if (run == kContainerIdDigits) id = component.substr(i - run, run);
    run = 0;
  }
  return id;
}

// systemd writes what a unit's name may not hold as "\x2d".
std::string Unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i, 2) == "\\x" && i + 3 < text.size() && IsHexDigit(text[i + 2]) &&
        IsHexDigit(text[i + 3])) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 2, 2)), nullptr, 16));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// systemd-nspawn as a service or in machined's scope (libvirt's virtual machines have such a scope
// too), LXC 4's payload.
std::string MachineName(std::string_view component) {
  if (const auto name = Without(component, "systemd-nspawn@", ".service")) return Unescape(*name);
  if (const auto name = Without(component, "lxc.payload.", "")) return std::string(*name);
  const auto name = Without(component, "machine-", ".scope");
  if (!name || name->starts_with("qemu\\x2d")) return {};
  return Unescape(*name);
}

// "pod<uid>" below "kubepods", or "kubepods-burstable-pod<uid>.slice" with the uid's dashes as
// underscores. The uid of a static pod has no dashes at all.
std::string PodUid(std::string_view component, bool below_kubepods) {
  std::string_view uid;
  if (const auto slice = Without(component, "", ".slice"); slice && below_kubepods) {
    const size_t at = slice->rfind("-pod");
    if (at == std::string_view::npos) return {};
    uid = slice->substr(at + 4);
  } else if (const auto plain = Without(component, "pod", ""); plain && below_kubepods) {
    uid = *plain;
  }
  if (uid.size() != kUuidCharacters && uid.size() != kUuidDigits) return {};
  std::string text(uid);
  std::replace(text.begin(), text.end(), '_', '-');
  const bool valid =
      std::all_of(text.begin(), text.end(), [](char c) { return IsHexDigit(c) || c == '-'; });
  return valid ? text : std::string();
}

// Changes `facts` by one component, outermost first. `is_owned`: others than root may have named
// it.
void TakeComponent(std::string_view component, bool below_kubepods, bool is_owned,
                   CgroupFacts* facts) {
  if (std::string uid = PodUid(component, below_kubepods); !uid.empty()) {
    facts->pod_uid = std::move(uid);
    facts->is_pod_claimed = is_owned;
  } else if (const std::string_view id = ContainerIdIn(component); !id.empty()) {
    facts->container_id = std::string(id);
    facts->is_container_claimed = is_owned;
    facts->container_name.clear();
    facts->service.clear();
  } else if (std::string name = MachineName(component); !name.empty()) {
    facts->container_name = std::move(name);
    facts->is_container_claimed = is_owned;
    facts->container_id.clear();
    facts->service.clear();
  } else if (const auto service = Without(component, "", ".service")) {
    facts->service = std::string(*service);
    facts->is_service_claimed = is_owned;
  } else if (component.ends_with(".scope")) {  // Of a session or of a container's runtime.
    facts->service.clear();
  }
}

bool NamesContainer(const CgroupFacts& facts) {
  return !facts.container_id.empty() || !facts.container_name.empty();
}

}  // namespace

CgroupFacts ReadCgroupPath(std::string_view path) {
  CgroupFacts facts{.path = std::string(path)};
  bool below_kubepods = false, is_owned = false;
  for (std::string_view component : Split(path, '/')) {
    below_kubepods = below_kubepods || component.find("kubepods") != std::string_view::npos;
    TakeComponent(component, below_kubepods, is_owned, &facts);
    is_owned = is_owned || NamesContainer(facts) || Without(component, "user@", ".service");
  }
  return facts;
}

CgroupFacts ChooseCgroup(std::string_view v2, std::string_view v1) {
  CgroupFacts facts = ReadCgroupPath(v2);
  if (v1.empty() || NamesContainer(facts)) return facts;
  CgroupFacts other = ReadCgroupPath(v1);
  return NamesContainer(other) || v2.size() <= 1 ? other : facts;
}

CgroupFacts ReadProcCgroup(std::string_view text) {
  std::string_view v2, v1;
  const auto depth = [](std::string_view path) {
    return path.size() <= 1 ? 0 : std::count(path.begin(), path.end(), '/');
  };
  for (std::string_view line : Split(text, '\n')) {
    const std::vector<std::string_view> parts = Split(line, ':', 3);
    if (parts.size() != 3 || parts[2].empty()) continue;
    if (parts[0] == "0" && parts[1].empty()) {
      v2 = parts[2];
    } else if (depth(parts[2]) > depth(v1)) {
      v1 = parts[2];
    }
  }
  if (v2.empty() && v1.empty() && !text.empty()) v1 = text.find(":/") != text.npos ? "/" : "";
  return ChooseCgroup(v2, v1);
}

}  // namespace stackray
