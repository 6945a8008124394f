// `stackray report`: a client of the running agent.
#ifndef STACKRAY_AGENT_REPORTS_REPORT_COMMAND_H_
#define STACKRAY_AGENT_REPORTS_REPORT_COMMAND_H_

#include "agent/settings/settings.h"

namespace stackray {

// Exit code 0: done; 1: not, standard error says why.
int RunReport(const ReportVerbSettings& settings);

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_REPORT_COMMAND_H_
