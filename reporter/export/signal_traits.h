// Where signals differ on their way to a receiver: one row each.
#ifndef STACKRAY_REPORTER_EXPORT_SIGNAL_TRAITS_H_
#define STACKRAY_REPORTER_EXPORT_SIGNAL_TRAITS_H_

#include <cstddef>
#include <functional>
#include <string_view>
#include <vector>

#include "reporter/export/payload.h"

namespace stackray {

// A unit is what a receiver stores or rejects as one: a profile, a span, a log record.
struct SignalTraits {
  Signal signal = Signal::kProfiles;
  std::string_view items, units;  // What both are called.
  std::string_view variable;      // Between OTEL_EXPORTER_OTLP_ and _ENDPOINT.
  std::string_view http_path;     // Behind a base URL.
  std::string_view grpc_method;
  std::string_view version_header;  // Sent with the value 1; empty: none.
  // The number in the response's partial_success of the field that counts the rejected units.
  int rejected_field = 1;
  std::string_view empty_request;  // A request without units, which leaves nothing behind.
  // What to look at where nothing takes the signal, for the end of a message.
  std::string_view no_service_hint;

  // Two or more complete payloads that together say the same; empty where that cannot be done.
  std::function<std::vector<Payload>(const Payload&)> halve;
  // The like, of at most a few dozen parts, cut between units; of so many units each, or a
  // multiple.
  std::function<std::vector<Payload>(const Payload&, size_t units_each)> split_by_unit;
  // 0: nobody knows.
  std::function<size_t(const Payload&)> count_units;
};

const SignalTraits& TraitsOf(Signal signal);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_SIGNAL_TRAITS_H_
