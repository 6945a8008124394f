// The agent's side of the process that runs collectors.
#ifndef STACKRAY_AGENT_PRIVILEGES_COLLECTOR_CLIENT_H_
#define STACKRAY_AGENT_PRIVILEGES_COLLECTOR_CLIENT_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/privileges/collector_protocol.h"
#include "agent/privileges/helper_process.h"
#include "agent/settings/settings.h"

namespace stackray {

struct Collected {
  std::string text;  // What it wrote, at most its `output`.
  bool is_cut = false;
  absl::Status end;  // Not OK: what is wrong with it; the text is there all the same.
};

class CollectorClient {
 public:
  CollectorClient(HelperProcess process, std::vector<CollectorEntry> collectors)
      : process_(std::move(process)), collectors_(std::move(collectors)) {}

  // Those of the agent's start: the only ones that can run.
  const std::vector<CollectorEntry>& collectors() const { return collectors_; }
  // Waits for as long as the collector may take; `goes_on` is asked ten times a second. Errors:
  // NotFound (the process is gone, or has another name), FailedPrecondition, Unavailable,
  // Cancelled.
  // Threads: one at a time.
  absl::StatusOr<Collected> Run(size_t collector, uint32_t pid,
                                const std::function<bool()>& goes_on) const;

 private:
  const HelperProcess process_;
  const std::vector<CollectorEntry> collectors_;
};

// OK: it ended with code 0. Else what is wrong; errors as above where it was not started.
absl::Status MeaningOf(const CollectorReply& reply);

}  // namespace stackray

#endif  // STACKRAY_AGENT_PRIVILEGES_COLLECTOR_CLIENT_H_
