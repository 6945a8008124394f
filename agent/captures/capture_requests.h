// The requests about captures that a running agent knows; capture_keeper.h answers,
// capture_command.h asks.
//
//   capture-start {"capture": ToJson(CaptureSpec)}   {"name", "ends_unix_ns"}
//   capture-list  {}                                 {"captures": [ToJson(CaptureRecord)],
//                                                     "now": {NAME: {"produced", "frequency_hz"}}}
//   capture-stop  {"name"}                           {"name", "file"}
#ifndef STACKRAY_AGENT_CAPTURES_CAPTURE_REQUESTS_H_
#define STACKRAY_AGENT_CAPTURES_CAPTURE_REQUESTS_H_

namespace stackray {

inline constexpr char kCaptureStartRequest[] = "capture-start";
inline constexpr char kCaptureListRequest[] = "capture-list";
inline constexpr char kCaptureStopRequest[] = "capture-stop";

}  // namespace stackray

#endif  // STACKRAY_AGENT_CAPTURES_CAPTURE_REQUESTS_H_
