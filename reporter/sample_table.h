// The samples of the open batch, by process (an OTLP resource) and profile, with the exact length
// of what they will be encoded to.
//
// A process has a profile for each origin and period of its samples and, where timestamps are kept,
// another one for samples that stand for several (markers of lost ones): all samples of a profile
// must have one shape, and a timestamp repeated a million times would not be bounded.
//
// Duration: a profile's duration is known at the seal only. It is written as a varint of nine bytes
// whatever its size, so that lengths are exact before; that costs four bytes a profile.
// Threads:  none of its own; one owner.
#ifndef STACKRAY_REPORTER_SAMPLE_TABLE_H_
#define STACKRAY_REPORTER_SAMPLE_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/inlined_vector.h"
#include "profile/process.h"
#include "profile/sample.h"

namespace stackray {

// What a profile says about its samples, as indices into the batch's strings.
struct ProfileType {
  int32_t sample_type, sample_unit;
  int32_t period_type, period_unit;  // 0: none.
  int64_t period;
};

// What all samples of a profile consist of.
enum class SampleShape : uint8_t {
  kCounts,       // One value: how many events.
  kTimes,        // A timestamp for each event.
  kTimedValues,  // A timestamp and a value for each event.
};

// Samples that agree in all of this are added up.
struct SampleIdentity {
  int32_t profile = 0;
  int32_t stack = 0;
  int32_t link = 0;  // 0: none.
  absl::InlinedVector<int32_t, 4> attributes;

  friend bool operator==(const SampleIdentity&, const SampleIdentity&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const SampleIdentity& s) {
    return H::combine(std::move(h), s.profile, s.stack, s.link, s.attributes);
  }
};

class SampleTable {
 public:
  static constexpr int32_t kNone = -1;

  // `scope` is the body of the InstrumentationScope that every resource repeats.
  explicit SampleTable(std::string scope) : scope_(std::move(scope)) {}

  int32_t FindProcess(const ProcessId& id) const;  // kNone: not defined.
  // `resource` is the body of its Resource message. The process must not be defined yet. Processes
  // with equal resources are one, whose index it returns.
  int32_t DefineProcess(const ProcessId& id, std::string resource);

  int32_t FindProfile(int32_t process, SampleOrigin origin, SampleShape shape,
                      int64_t period) const;
  int32_t DefineProfile(int32_t process, SampleOrigin origin, SampleShape shape,
                        const ProfileType& type);

  // Adds to the sample what its profile's shape keeps of an event; `amount` is the number of events
  // (kCounts) or the event's value (kTimedValues), ≥ 0.
  void Add(const SampleIdentity& identity, int64_t amount, int64_t time_unix_ns);

  // Length of all ResourceProfiles fields. A process or profile without samples is not written.
  // O(1).
  size_t encoded_bytes() const { return encoded_bytes_; }
  bool empty() const { return samples_.empty(); }
  // Earliest and latest timestamp that is kept; false when there is none.
  bool TimeRange(int64_t* first_unix_ns, int64_t* last_unix_ns) const;

  // One mark at a time, as in BatchBuilder.
  void Mark();
  void Rollback();

  void AppendTo(int64_t start_unix_ns, int64_t duration_ns, std::string* out) const;

 private:
  struct Process {
    std::string resource;
    std::vector<int32_t> profiles;  // Of profiles_.
    size_t profiles_bytes = 0;      // Of their fields.
  };
  struct Profile {
    int32_t process;
    SampleOrigin origin;
    SampleShape shape;
    int64_t period_value;
    std::string type;          // Field 1 (sample type).
    std::string period;        // Fields 5 and 6.
    size_t samples_bytes = 0;  // Of its samples' fields.
  };
  struct Sample {
    SampleIdentity identity;
    int32_t last_time = kNone;  // Of times_: the latest of a chain.
    int64_t count = 0;          // Or number of timestamps.
    size_t values_bytes = 0;    // Of kTimedValues: encoded.
  };
  struct Time {
    int64_t unix_ns;
    int32_t previous;
    int32_t value;  // Of values_; kNone: the profile has none.
  };
  struct Undo {  // What a sample was before.
    int32_t sample, last_time;
    int64_t count;
    size_t values_bytes;
  };
  struct Sizes {
    size_t processes = 0, ids = 0, profiles = 0, samples = 0, times = 0, values = 0;
    int64_t first_time = 0, last_time = 0;
  };

  size_t ProfileBytes(const Profile& profile) const;        // Of its field; 0 without samples.
  size_t ScopeProfilesBytes(const Process& process) const;  // Of the message.
  size_t ResourceProfilesBytes(const Process& process) const;
  size_t ProcessBytes(const Process& process) const;  // Of its field; 0 without profiles.
  size_t SampleBytes(const Sample& sample) const;     // Of the message.
  void AddEvent(Sample& sample, int64_t amount, int64_t time_unix_ns);
  void AddSampleBytes(int32_t profile, size_t removed, size_t added);
  void AppendProcess(const Process& process, const std::vector<std::vector<int32_t>>& samples,
                     const std::string& times, std::string* out) const;
  void AppendProfile(const Profile& profile, const std::vector<int32_t>& samples,
                     const std::string& times, std::string* out) const;
  void AppendSample(const Sample& sample, std::string* out) const;
  void AppendEvents(const Sample& sample, std::string* out) const;

  const std::string scope_;
  std::vector<Process> processes_;
  std::vector<Profile> profiles_;
  std::vector<Sample> samples_;
  std::vector<Time> times_;
  std::vector<int64_t> values_;
  std::vector<ProcessId> ids_;  // In the order in which they were defined.
  absl::flat_hash_map<ProcessId, int32_t> process_index_;
  absl::flat_hash_map<std::string, int32_t> resource_index_;
  absl::flat_hash_map<SampleIdentity, int32_t> sample_index_;
  size_t encoded_bytes_ = 0;
  int64_t first_time_ = 0, last_time_ = 0;  // Valid when times_ has any.

  Sizes mark_;
  std::vector<Undo> undo_;  // Changes since the mark to samples that are older than it.
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_SAMPLE_TABLE_H_
