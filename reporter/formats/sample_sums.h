// What batches add up to, whatever is kept of their stacks: the one place where a batch's types,
// periods, values, times, processes, threads, links and attributes become rows.
//
// ProfileView keeps every stack with its places, for files; PageProfile keeps names in bounded
// memory, for the live page. Both say where a stack goes and where a row goes; all else of a batch
// is read here. A row is of one sample type, so values of different units are never added.
//
// Input:   batches of any origin; values and times of any value are clamped.
// Threads: one thread adds; then any may read. Errors: none.
#ifndef STACKRAY_REPORTER_FORMATS_SAMPLE_SUMS_H_
#define STACKRAY_REPORTER_FORMATS_SAMPLE_SUMS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reporter/formats/batch_walk.h"
#include "reporter/formats/intern.h"
#include "reporter/formats/period_weight.h"
#include "reporter/formats/view_buckets.h"

namespace stackray {

// The records below hold string ids where nothing else is said. All are plain content: two equal
// ones are the same one.

struct ViewNode {  // One frame below one caller. A parent's id is smaller than its children's.
  uint32_t parent = 0, frame = kNoId;  // ProfileView: a location.
  friend bool operator==(const ViewNode&, const ViewNode&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ViewNode& n) {
    return H::combine(std::move(h), n.parent, n.frame);
  }
};

struct ViewProcess {
  int64_t pid = 0;  // 0: the host itself.
  uint32_t command = 0, executable = 0, container = 0, service = 0;
  uint32_t creation_time = 0;  // As its resource spells it.
  uint32_t cgroup = 0, user = 0;
  friend bool operator==(const ViewProcess&, const ViewProcess&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ViewProcess& p) {
    return H::combine(std::move(h), p.pid, p.command, p.executable, p.container, p.service,
                      p.creation_time, p.cgroup, p.user);
  }
};

struct ViewLabel {  // One attribute of a sample, in a list.
  uint32_t key = 0;
  uint32_t text = 0;
  uint32_t next = 0;   // Id of the next label; 0: none.
  int64_t number = 0;  // Of one without a text.
  friend bool operator==(const ViewLabel&, const ViewLabel&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ViewLabel& l) {
    return H::combine(std::move(h), l.key, l.text, l.next, l.number);
  }
};

// Whose a row is and of which type: all of its context but stack and time.
struct ViewThread {
  uint32_t process = 0;  // Id of a process.
  uint32_t name = 0;
  int64_t tid = 0;      // 0: the process as a whole.
  uint32_t type = 0;    // Number of its sample type.
  uint32_t wait = 0;    // What was waited for (`stackray.wait`); 0: nothing is said of it.
  uint32_t labels = 0;  // Id of its first label; 0: none.
  friend bool operator==(const ViewThread&, const ViewThread&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const ViewThread& t) {
    return H::combine(std::move(h), t.process, t.name, t.tid, t.type, t.wait, t.labels);
  }
};

struct SumTables {
  StringTable strings;
  InternTable<ViewNode> nodes;
  InternTable<ViewProcess> processes;
  InternTable<ViewLabel> labels;
  InternTable<ViewThread> threads;
  size_t bytes() const {
    return strings.bytes() + nodes.bytes() + processes.bytes() + labels.bytes() + threads.bytes();
  }
};

// A type of samples, as its profiles name it, and what all of its samples come to.
struct TypeSums {
  std::string type, unit;  // Valid UTF-8.
  int64_t total = 0;       // Of all values that were added, in `unit`.
  int64_t overflowed = 0;  // Of these, what stands under the overflow node.
  PeriodWeight weight;     // Of on-CPU samples alone: all counts are in its shortest period.
  uint32_t overflow_thread = 0;
};

class SampleSums {
 public:
  static constexpr size_t kLongestText = 8192;  // Of InternName(), in bytes.

  static constexpr uint32_t kRoot = 0;  // Node above all stacks; its frame means nothing.
  // On-CPU samples, there even when no batch has any. Others follow in the order in which they
  // came.
  static constexpr uint32_t kCpuType = 0;
  static constexpr size_t kMaxTypes = 64;  // Samples of later ones are left out.

  struct Options {
    // Samples at other times are left out; those without a time are spread over their batch.
    int64_t from_unix_ns = 0, to_unix_ns = INT64_MAX;
    bool labels = false;  // Keep links and attributes of samples.
  };

  explicit SampleSums(Options options);
  virtual ~SampleSums();
  SampleSums(SampleSums&&);

  // Keeps nothing of `batch` by reference.
  void Add(const BatchWalk& batch);
  // The time that was watched, whether or not it has samples.
  void CoverTime(int64_t start_unix_ns, int64_t end_unix_ns);

  std::string_view Text(uint32_t string_id) const { return tables_.strings[string_id]; }
  // Element 0 is the empty one in each; in nodes() it is the root.
  const std::vector<ViewNode>& nodes() const { return tables_.nodes.items(); }
  const std::vector<ViewProcess>& processes() const { return tables_.processes.items(); }
  const std::vector<ViewThread>& threads() const { return tables_.threads.items(); }
  const std::vector<ViewLabel>& labels() const { return tables_.labels.items(); }
  const std::vector<TypeSums>& types() const { return types_; }
  // The numbers of the types that have samples: on-CPU first.
  std::vector<uint32_t> UsedTypes() const;
  // The one that is meant where none is named: on-CPU, or the first of others.
  uint32_t DefaultType() const;
  // By its name in settings ("off-cpu") or in batches ("off_cpu").
  std::optional<uint32_t> FindType(std::string_view name) const;

  int64_t start_unix_ns() const { return start_unix_ns_; }  // 0 with end_unix_ns 0: no batch yet.
  int64_t end_unix_ns() const { return end_unix_ns_; }
  // The shortest of the batches, in which all on-CPU counts are (period_weight.h); 0: none.
  double period_ns() const { return types_[kCpuType].weight.period_ns(); }
  std::string_view host_name() const { return Text(host_name_); }
  int64_t samples() const { return types_[kCpuType].total; }  // On-CPU ones.
  int64_t overflowed() const { return types_[kCpuType].overflowed; }

 protected:
  // How the values of a sample are told when they are added.
  struct Added {
    uint32_t type = 0, stack = 0;
    int64_t events = 0, value = 0;  // Of those at the wanted times.
    std::string_view command;
    const WalkedSample* sample = nullptr;
  };

  // The numbers that nodes have from here on; those of the batch that is being added are asked for
  // again.
  void ForgetBatch();
  uint32_t InternText(std::string_view text, bool may_add);
  // Of those who keep names without a bound by `may_add`: what is longer than kLongestText ends in
  // an ellipsis.
  uint32_t InternName(std::string_view text);

  virtual void BeginBatch(const BatchWalk& batch) = 0;
  virtual void EndBatch() = 0;
  // New stacks, threads and rows have room.
  virtual bool MayAdd() const { return true; }
  // The node of one of the batch's stacks; kNoId: there is no room.
  virtual uint32_t NodeOf(const BatchWalk& batch, uint32_t stack, bool may_add) = 0;
  virtual void Cover(int64_t first_ms, int64_t last_ms) = 0;
  virtual void Widen(int64_t at_least_ms) = 0;
  virtual int64_t width_ms() const = 0;
  // Every row of a type `factor` times.
  virtual void Scale(uint32_t type, int64_t factor) = 0;
  // False: there is no room.
  virtual bool AddRow(uint32_t node, uint32_t thread, int64_t time_ms, int64_t value,
                      bool may_add) = 0;
  virtual void TypeIsNew() {}
  virtual void SampleIsDone(const Added&) {}

  SumTables tables_;
  uint32_t overflow_node_ = kNoId;
  uint32_t host_name_ = 0;
  std::vector<TypeSums> types_;

 private:
  struct Batch;  // What numbers of one batch mean here.

  bool Wanted(int64_t time_ns) const {
    return time_ns >= options_.from_unix_ns && time_ns < options_.to_unix_ns;
  }
  void AddTimes(const BatchWalk& batch);
  void BeginProfile(const WalkedProfile& profile);
  std::optional<uint32_t> TypeOf(const WalkedProfile& profile);
  void AddSample(const BatchWalk& batch, const WalkedSample& sample);
  void AddTimed(const WalkedSample& sample, uint32_t node, uint32_t thread, bool may_add,
                Added* added);
  void AddSpread(const WalkedSample& sample, uint32_t node, uint32_t thread, bool may_add,
                 Added* added);
  void AddValue(uint32_t node, uint32_t thread, int64_t time_ms, int64_t value, bool may_add);
  uint32_t Thread(const WalkedSample& sample, bool may_add);
  uint32_t Process(bool may_add);
  uint32_t Labels(const WalkedSample& sample, bool may_add);

  const Options options_;
  std::unique_ptr<Batch> batch_;  // While one is added.
  bool empty_ = true;
  int64_t start_unix_ns_ = 0, end_unix_ns_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_SAMPLE_SUMS_H_
