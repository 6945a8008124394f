// A sealed batch read where it lies: nothing is copied and no message objects are made. Pages,
// files and summaries all start here, so that what a user sees locally is what a backend gets.
//
// Input:   any bytes. Open() looks at all of them and at every index once; what follows reads only
//          what was found good.
// Memory:  8 bytes for each entry of the batch's tables: for batches of ours a quarter of their
//          size, for bytes made to harm at most four times it. All views point into the bytes.
// Threads: immutable after Open(). Lifetime: the bytes outlive it.
#ifndef STACKRAY_REPORTER_FORMATS_BATCH_WALK_H_
#define STACKRAY_REPORTER_FORMATS_BATCH_WALK_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "profile/marker.h"

namespace stackray {

struct WalkedLine {
  std::string_view function;  // Function.name, or system_name where it has no name.
  std::string_view system_name, file;
  int64_t line = 0;
};

struct WalkedFrame {
  std::string_view type;          // profile.frame.type: "native", "kernel", "abort-marker", …
  std::string_view mapping_path;  // Empty: no mapping.
  std::string_view build_id;      // GNU's, else Go's, else htlhash.
  uint64_t address = 0;
  std::vector<WalkedLine> lines;  // Innermost inline first; empty: no name.
  std::optional<uint64_t> function_start;
  MarkerKind marker = MarkerKind::kNone;
  std::string_view marker_reason;  // As the batch says it.
};

struct WalkedResource {
  int64_t pid = 0;
  std::string_view command, executable, container, service, creation_time, host_name, cgroup, user;
};

struct WalkedProfile {
  std::string_view type, unit;  // Of its samples' values.
  std::string_view period_type, period_unit;
  int64_t period = 0;
  bool weighted = false;  // An event has a value of its own; without values it counts one.
};

struct WalkedAttribute {
  std::string_view key, text;  // No text: a number, or a value of another kind.
  int64_t number = 0;
};

struct WalkedSample {
  uint32_t stack = 0;     // Below BatchWalk::stacks().
  bool weighted = false;  // As its profile.
  int64_t total = 0;      // Sum of the values; without values the number of timestamps.
  int64_t events = 0;     // How many events it stands for.
  int64_t tid = 0;
  std::string_view thread_name;
  int64_t cpu = -1;                         // -1: not recorded.
  std::string_view wait;                    // `stackray.wait`; empty: not said.
  std::string_view trace_id, span_id;       // Of its link; empty: it has none.
  std::vector<WalkedAttribute> attributes;  // All others, as far as kMostAttributes.
  std::vector<int64_t> timestamps_unix_ns;  // Empty when aggregated.
  std::vector<int64_t> values;  // One for each timestamp; empty where they are no pairs.

  static constexpr size_t kMostAttributes = 128;
};

class BatchWalk {
 public:
  // Errors: DataLoss (not protobuf, an index outside its table).
  static absl::StatusOr<BatchWalk> Open(std::string_view bytes);

  int64_t start_unix_ns() const { return start_unix_ns_; }
  int64_t end_unix_ns() const { return end_unix_ns_; }
  size_t samples() const { return samples_; }  // Entries, whatever they count.
  bool timed() const;                          // Each type has samples with a timestamp.

  size_t frames() const { return tables_[kLocations].size(); }
  size_t stacks() const { return tables_[kStacks].size(); }
  // Both write over what was there, so that a caller's vectors keep their memory.
  void ReadFrame(uint32_t frame, WalkedFrame* out) const;
  void ReadStack(uint32_t stack, std::vector<uint32_t>* frames) const;  // Leaf first.

  // Every resource in order, each before its profiles, and these before their samples. What is
  // handed over is lent for the call.
  void Visit(absl::FunctionRef<void(const WalkedResource&)> resource,
             absl::FunctionRef<void(const WalkedProfile&)> profile,
             absl::FunctionRef<void(const WalkedSample&)> sample) const;

 private:
  // Field numbers of ProfilesDictionary (reporter/proto/profiles.proto).
  enum TableNumber {
    kMappings = 1,
    kLocations,
    kFunctions,
    kLinks,
    kStrings,
    kAttributes,
    kStacks,
    kTables
  };
  struct Span {
    uint32_t offset = 0, bytes = 0;
  };
  struct Value {  // Of an attribute: text, a number, or neither.
    std::string_view text;
    int64_t number = 0;
    bool is_number = false;
  };

  struct TypeTimes {  // Of the profiles with this sample type.
    uint64_t type = 0, unit = 0;
    bool timed = false;
  };

  explicit BatchWalk(std::string_view bytes) : bytes_(bytes) {}
  Span SpanOf(std::string_view part) const;
  std::string_view At(TableNumber table, uint64_t index) const;
  bool Inside(TableNumber table, uint64_t index) const;
  Value ReadValue(std::string_view any_value) const;
  std::pair<std::string_view, Value> Attribute(uint64_t index) const;
  void ReadMapping(uint64_t index, WalkedFrame* frame) const;
  WalkedLine ReadLine(std::string_view line) const;
  WalkedResource ReadResource(std::string_view resource_profiles) const;
  WalkedProfile ReadProfile(std::string_view profile) const;
  void ReadSample(std::string_view bytes, const WalkedProfile& profile, WalkedSample* sample) const;
  void ReadLink(uint64_t index, WalkedSample* sample) const;
  void ReadAttribute(uint64_t index, WalkedSample* sample) const;
  // f(profile's bytes) for each profile of a ResourceProfiles; false when it is damaged.
  bool EachProfile(std::string_view resource_profiles,
                   absl::FunctionRef<bool(std::string_view)> f) const;

  // The checks of Open(); false: not what it should be.
  bool FindTables();
  bool CheckTables() const;
  bool CheckEntry(TableNumber table, std::string_view entry) const;
  bool CheckResource(std::string_view resource) const;
  bool CheckProfile(std::string_view profile);
  bool CheckSample(std::string_view sample, bool* timed);

  std::string_view bytes_;
  std::array<std::vector<Span>, kTables> tables_;
  std::vector<Span> resources_;
  std::vector<TypeTimes> types_;
  size_t samples_ = 0;
  bool has_time_ = false;
  int64_t start_unix_ns_ = 0, end_unix_ns_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_BATCH_WALK_H_
