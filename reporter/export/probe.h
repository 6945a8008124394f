// Does a receiver answer? Asked by a request without units, which leaves nothing behind.
#ifndef STACKRAY_REPORTER_EXPORT_PROBE_H_
#define STACKRAY_REPORTER_EXPORT_PROBE_H_

#include <chrono>
#include <string>

#include "reporter/export/signal_traits.h"
#include "reporter/export/transport.h"

namespace stackray {

struct ProbeResult {
  bool answers = false;
  std::string message;  // Why not.
};

// Waits at most `timeout`. A receiver that refuses a request for being empty answers too (Pyroscope
// 2).
// Threads: as Transport::Send().
ProbeResult Probe(Transport& transport, const SignalTraits& traits,
                  std::chrono::milliseconds timeout);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_PROBE_H_
