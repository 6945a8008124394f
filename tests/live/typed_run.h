// A session that samples several types, and the events of its batches, read back with the generated
// classes.
#ifndef STACKRAY_TESTS_LIVE_TYPED_RUN_H_
#define STACKRAY_TESTS_LIVE_TYPED_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/sampling/sampling_session.h"

namespace stackray::test {

// One sample of one batch: events with equal stacks and attributes.
struct TypedSample {
  std::string type;  // As on the wire: "samples", "off_cpu", "page_faults".
  int64_t period = 0;
  int64_t value = 0;  // Their sum; of "samples" their number.
  size_t events = 0;
  double squares = 0;  // Of the events' values.
  std::string thread, wait;
  uint32_t tid = 0;
  std::vector<std::string> kernel, user;  // Functions, leaf first; markers are left out.
  int batch = 0;

  bool Has(std::string_view function) const;
};

class TypedRun {
 public:
  // Samples `pids` and what they start, as `settings` say. Errors: as SamplingSession::Create.
  static absl::StatusOr<std::unique_ptr<TypedRun>> Start(SessionSettings settings,
                                                         const std::vector<uint32_t>& pids);
  ~TypedRun();

  // Takes samples and seals `seals_a_second` times a second until `done`. False: it was not within
  // `timeout_ms`.
  bool Until(int timeout_ms, const std::function<bool()>& done, double seals_a_second = 1);
  void Stop();

  SamplingSession& session() { return *session_; }
  const std::vector<TypedSample>& samples() const { return samples_; }
  int batches() const { return batches_; }
  uint64_t events() const { return events_; }
  int64_t Sum(const std::function<bool(const TypedSample&)>& wanted) const;

 private:
  TypedRun() = default;
  void Keep(const std::string& bytes);

  std::unique_ptr<SamplingSession> session_;
  std::vector<TypedSample> samples_;
  uint64_t events_ = 0;
  int batches_ = 0;
  bool stopped_ = false;
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_TYPED_RUN_H_
