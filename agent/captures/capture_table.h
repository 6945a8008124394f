// What `stackray capture list` shows.
#ifndef STACKRAY_AGENT_CAPTURES_CAPTURE_TABLE_H_
#define STACKRAY_AGENT_CAPTURES_CAPTURE_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "agent/captures/capture_record.h"

namespace stackray {

// A line of headings and one a capture, in columns; "no captures" where there are none. Names in
// targets may be hostile: what could drive a terminal is replaced.
std::string CaptureTable(const std::vector<CaptureRecord>& captures, int64_t now_unix_ns);

}  // namespace stackray

#endif  // STACKRAY_AGENT_CAPTURES_CAPTURE_TABLE_H_
