// What the settings say about the receivers, checked and complete: what one is made from, and what
// a reload compares.
#ifndef STACKRAY_AGENT_DAEMON_RECEIVER_PLAN_H_
#define STACKRAY_AGENT_DAEMON_RECEIVER_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/settings/settings.h"
#include "reporter/export/receiver_settings.h"

namespace stackray {

struct ReceiverPlan {
  std::string name;
  ReceiverSettings settings;
  std::string files;  // Which certificate files these are: a renewed one is another receiver.
  uint64_t queue_bytes = 0;
  std::string spool_directory;  // Of all spools; empty: none is wanted.
  uint64_t spool_bytes = 0;
  int64_t spool_age_ms = 0;
  bool probe = false;  // An empty request tells at the start whether it answers.
  Signal signal = Signal::kProfiles;

  friend bool operator==(const ReceiverPlan&, const ReceiverPlan&) = default;
};

// A name for whoever reads a log or a status: the address, without secrets. Also whose batches a
// spool holds.
std::string EndpointOf(const ReceiverPlan& plan);

// "receiver otlp: a batch about every 15 s by gRPC to http://…", and what waits while it is away.
std::string DescribePlan(const ReceiverPlan& plan, int64_t seal_interval_ms);

// What one receiver's texts say. Opens nothing but certificate files. Errors: as PlanReceivers().
absl::StatusOr<ReceiverSettings> CheckReceiver(const ReceiverStrings& strings, Signal signal);
// One receiver's settings, for another signal: its address with that signal's path. Errors: as
// CheckReceiver(); NotFound: its address is of profiles alone, with the words that say so.
absl::StatusOr<ReceiverSettings> BesideProfiles(const ReceiverStrings& receiver, Signal signal);
// Which files of certificates and keys these are, as of now.
std::string CertificateFilesOf(const ReceiverSettings& settings);

// Opens nothing but certificate files. Errors: InvalidArgument, naming where it was said (flag,
// variable, FILE:LINE: key), what is wrong, and what to write instead.
absl::StatusOr<std::vector<ReceiverPlan>> PlanReceivers(const AgentSettings& settings);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_RECEIVER_PLAN_H_
