#include "agent/privileges/core_dumps.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <optional>

namespace stackray {
namespace {

// Written once, before there are threads.
std::optional<rlimit> g_before;

}  // namespace

void ForbidCoreDumps() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_CORE, &limit) == 0) {
    if (!g_before) g_before = limit;
    limit.rlim_cur = 0;  // The hard limit stays, so that CMD's can come back.
    (void)setrlimit(RLIMIT_CORE, &limit);
  }
  (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

void RestoreCoreLimit() {
  if (g_before) (void)setrlimit(RLIMIT_CORE, &*g_before);
}

}  // namespace stackray
