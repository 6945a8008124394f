#include "agent/daemon/left_alone_log.h"

#include <fmt/format.h>

#include "agent/log.h"

namespace stackray {

void LeftAloneLog::Look(const LeftAlone::Counts& counts) {
  if (counts.hangs == told_hangs_) return;
  told_hangs_ = counts.hangs;
  LogWarning(fmt::format("reads of process {} did not return, so it is left alone for {} s; left "
                         "alone now: {} processes, and all of {} users",
                         counts.last_pid, counts.last_pause_s, counts.processes, counts.owners),
             "left alone");
}

}  // namespace stackray
