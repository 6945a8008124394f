// Puts one report together, on a thread of its own with the lowest priorities: facts of the host,
// of its processes, their stacks, the profile of the last minutes and of now.
//
// Each step has a deadline, after which the next one begins; steps that cost something are left out
// while the host's pressure is above the settings' bound. The manifest says what is missing. The
// archive has its name when all is in it.
// Memory:  an entry at a time (4 MiB), zstd's 5 MiB, and a page while it is made.
// Threads: Run() its own; the rest before it begins.
#ifndef STACKRAY_AGENT_REPORTS_REPORT_WORK_H_
#define STACKRAY_AGENT_REPORTS_REPORT_WORK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "agent/privileges/collector_client.h"
#include "agent/reports/archive_writer.h"
#include "agent/reports/report_exchange.h"
#include "agent/reports/report_manifest.h"
#include "agent/reports/report_store.h"
#include "agent/reports/report_target.h"
#include "agent/settings/settings.h"

namespace stackray {

struct ReportOrder {
  ReportSettings settings;
  ReportManifest manifest;                      // What is asked.
  uint32_t own_pid = 0;                         // Not among the heaviest.
  const CollectorClient* collectors = nullptr;  // Lent; nullptr: there are none.
  IsMember is_member = {};  // Of whom the heaviest processes are; empty: of the host.
  // Visits the batches of the last minutes; empty: there are none.
  std::function<void(const std::function<bool(std::string_view)>& visit)> history;
};

// Names in the work directory, of files that the agent's loop writes.
inline constexpr char kProfileNowFile[] = "profile-now.otlp";

class ReportWork {
 public:
  // All are lent and outlive this.
  ReportWork(ReportOrder order, ReportStore& store, ReportExchange& exchange)
      : order_(std::move(order)), manifest_(order_.manifest), store_(store), exchange_(exchange) {}

  // The manifest of the report that now has its name. Errors: ResourceExhausted (no room on the
  // disk), PermissionDenied, Unavailable, Cancelled: there is no such report.
  absl::StatusOr<ReportManifest> Run();

 private:
  struct Step {
    std::string name;
    absl::Duration limit;
    bool is_costly = false;
    std::function<absl::Status()> run;
  };

  // Not OK: the archive is of no use any more.
  absl::Status Do(const Step& step);
  absl::Status AddText(const std::string& name, std::string_view text, bool is_cut = false);
  absl::Status AddFile(const std::string& name, const std::string& path);
  void Lack(const std::string& name, std::string why);
  bool IsOver() const;

  absl::Status AddHostFacts();
  absl::Status AddKernelLog();
  absl::Status ChooseProcesses();
  absl::Status AddProcess(const ReportedProcess& process);
  absl::Status AddFacts(const std::string& folder, uint32_t pid);
  absl::Status AddStacks(const std::string& folder, uint32_t pid);
  absl::Status AddCollected(const std::string& folder, const ReportedProcess& process);
  absl::Status AddCollected(const std::string& name, size_t collector, uint32_t pid);
  absl::Status AddLastStack();
  absl::Status AddHistory();
  absl::Status AddProfileNow();
  absl::Status AddPage(const std::string& name, const std::string& batches);

  const ReportOrder order_;
  ReportManifest manifest_;
  ReportStore& store_;
  ReportExchange& exchange_;
  std::unique_ptr<ArchiveWriter> archive_;
  absl::Status broken_;  // Of the archive.
  absl::Time step_end_ = absl::InfiniteFuture();
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_REPORT_WORK_H_
