#include "agent/daemon/receiver_plan.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "reporter/export/receiver_identity.h"
#include "reporter/export/response_parser.h"
#include "reporter/export/signal_traits.h"

namespace stackray {
namespace {

struct ReceiverField {
  std::string_view key;     // Of the settings; the flag is --KEY.
  std::string_view suffix;  // Of OTEL_EXPORTER_OTLP_….
  std::string ReceiverStrings::*text;
  std::optional<std::string> ReceiverOverrides::*override_text;
};

constexpr ReceiverField kFields[] = {
    {"endpoint", "ENDPOINT", &ReceiverStrings::endpoint, &ReceiverOverrides::endpoint},
    {"protocol", "PROTOCOL", &ReceiverStrings::protocol, &ReceiverOverrides::protocol},
    {"headers", "HEADERS", &ReceiverStrings::headers, &ReceiverOverrides::headers},
    {"compression", "COMPRESSION", &ReceiverStrings::compression, &ReceiverOverrides::compression},
    {"timeout", "TIMEOUT", &ReceiverStrings::timeout, &ReceiverOverrides::timeout},
    {"certificate", "CERTIFICATE", &ReceiverStrings::certificate,
     &ReceiverOverrides::ca_certificate_file},
    {"client-certificate", "CLIENT_CERTIFICATE", &ReceiverStrings::client_certificate,
     &ReceiverOverrides::client_certificate_file},
    {"client-key", "CLIENT_KEY", &ReceiverStrings::client_key, &ReceiverOverrides::client_key_file},
};

std::string OriginOf(const ReceiverStrings& strings, std::string_view key) {
  const auto origin = strings.origins.find(std::string(key));
  return origin == strings.origins.end() ? fmt::format("--{}", key) : origin->second;
}

}  // namespace

// What an OpenTelemetry variable said goes to the exporter as that variable: it knows its meaning.
absl::StatusOr<ReceiverSettings> CheckReceiver(const ReceiverStrings& strings, Signal signal) {
  ReceiverOverrides overrides;
  std::map<std::string, std::string> variables;
  const auto take = [&](std::string_view key, const std::string& text, auto store) {
    if (text.empty()) return;
    const std::string origin = OriginOf(strings, key);
    if (origin.starts_with("OTEL_")) {
      variables[origin] = text;
    } else {
      overrides.names[fmt::format("--{}", key)] = origin;
      store();
    }
  };
  for (const ReceiverField& field : kFields) {
    const std::string& text = strings.*field.text;
    take(field.key, text, [&] { overrides.*field.override_text = text; });
  }
  take("insecure", strings.insecure, [&] { overrides.insecure = strings.insecure == "true"; });
  return ReceiverSettingsFromEnvironment(
      [&](const char* name) {
        const auto variable = variables.find(name);
        return variable == variables.end() ? nullptr : variable->second.c_str();
      },
      overrides, signal);
}

std::string CertificateFilesOf(const ReceiverSettings& settings) {
  std::string files;
  for (const std::string& path :
       {settings.ca_certificate_file, settings.client_certificate_file, settings.client_key_file}) {
    struct stat facts = {};
    if (path.empty() || stat(path.c_str(), &facts) != 0) continue;
    files += fmt::format("{}:{}:{}:{}:{}.{};", path, facts.st_dev, facts.st_ino, facts.st_size,
                         facts.st_mtim.tv_sec, facts.st_mtim.tv_nsec);
  }
  return files;
}

absl::StatusOr<ReceiverSettings> BesideProfiles(const ReceiverStrings& receiver, Signal signal) {
  absl::StatusOr<ReceiverSettings> settings = CheckReceiver(receiver, Signal::kProfiles);
  if (!settings.ok()) return settings.status();
  ReceiverEndpoint& endpoint = settings->endpoint;
  const bool http = settings->protocol == ExportProtocol::kHttpProtobuf;
  if (http && !endpoint.http_base)
    return absl::NotFoundError(fmt::format("the receiver {} has the address of profiles alone ({})",
                                           receiver.name, receiver.origins.at("endpoint")));
  if (http) endpoint.http_path = *endpoint.http_base + std::string(TraitsOf(signal).http_path);
  endpoint.signal = signal;
  return settings;
}

std::string EndpointOf(const ReceiverPlan& plan) { return ReceiverIdentity(plan.settings); }

std::string DescribePlan(const ReceiverPlan& plan, int64_t seal_interval_ms) {
  const ReceiverSettings& settings = plan.settings;
  const bool grpc = settings.protocol == ExportProtocol::kGrpc;
  const std::string address = grpc
                                  ? fmt::format("{}://{}", settings.endpoint.tls ? "https" : "http",
                                                settings.endpoint.Authority())
                                  : settings.endpoint.Url();
  const std::string waits =
      plan.spool_directory.empty()
          ? fmt::format("in memory ({} MiB)", plan.queue_bytes >> 20)
          : fmt::format("on disk ({} MiB, {} min, {})", plan.spool_bytes >> 20,
                        plan.spool_age_ms / 60'000, plan.spool_directory);
  return fmt::format(
      "receiver {}: a batch about every {} s by {} to {}; while it is away, batches wait {}",
      plan.name, static_cast<double>(seal_interval_ms) / 1000, grpc ? "gRPC" : "HTTP",
      SafeMessage(address.substr(0, address.find('?'))), waits);
}

absl::StatusOr<std::vector<ReceiverPlan>> PlanReceivers(const AgentSettings& settings) {
  std::vector<ReceiverPlan> plans;
  for (const ReceiverStrings& strings : settings.receivers) {
    absl::StatusOr<ReceiverSettings> checked = CheckReceiver(strings, Signal::kProfiles);
    if (!checked.ok()) return checked.status();
    ReceiverPlan plan{.name = strings.name,
                      .settings = *std::move(checked),
                      .files = {},
                      .queue_bytes = settings.queue_bytes,
                      .spool_directory = {},
                      .spool_bytes = settings.spool_bytes,
                      .spool_age_ms = settings.spool_age_ms};
    plan.files = CertificateFilesOf(plan.settings);
    plan.probe = true;
    if (plan.spool_bytes > 0) plan.spool_directory = settings.state_dir + "/spool";
    for (const ReceiverPlan& other : plans) {
      if (EndpointOf(other) == EndpointOf(plan))
        return absl::InvalidArgumentError(
            fmt::format("the receivers {} and {} are the same one, {}; leave one of them out",
                        other.name, plan.name, EndpointOf(plan)));
    }
    plans.push_back(std::move(plan));
  }
  return plans;
}

}  // namespace stackray
