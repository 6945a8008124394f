// libs: stackray_control
// A line that somebody sends to the agent's socket.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/control/control_message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace stackray;
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<ControlRequest> request = ParseRequest(line);
  if (request.ok()) {
    // What was understood is understood again, and is one line.
    const std::string again = EncodeRequest(request->name, request->arguments);
    if (again.find('\n') != again.size() - 1) abort();
    if (!ParseRequest(std::string_view(again).substr(0, again.size() - 1)).ok()) abort();
  }
  (void)ParseAnswer(line);
  return 0;
}
