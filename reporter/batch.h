// The open batch: the stateless reporter's heart.
//
// A caller asks for every frame, executable mapping and process of every sample whether the open
// batch needs its symbols; only "yes" costs a resolution. What was defined dies with the batch: the
// next one asks again, so any batch decoded alone is complete. Nothing here knows what was sent.
//
//   int32_t frame = batch.FindFrame(key);             // the need question: kNeeded, or its place
//   if (frame == BatchBuilder::kNeeded) {
//     FrameSymbols symbols = resolver.Resolve(key);   // repeatable, never fails
//     if (symbols.mapping != 0 && batch.NeedsMapping(symbols.mapping))
//       batch.DefineMapping(symbols.mapping, mappings.Describe(symbols.mapping));
//     frame = batch.DefineFrame(key, symbols);
//   }
//
// Memory:  bounded by the sealed size: the caller watches encoded_bytes().
// Threads: one thread owns an open batch.
// Errors:  none: hostile names become valid UTF-8 (U+FFFD), impossible addresses
//          lose their mapping.
#ifndef STACKRAY_REPORTER_BATCH_H_
#define STACKRAY_REPORTER_BATCH_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profile/executable.h"
#include "profile/frame.h"
#include "profile/process.h"
#include "profile/sample.h"

namespace stackray {

// True of the whole batch, and repeated in each.
struct BatchSettings {
  double frequency_hz = 20;       // Of the CPU clock: period = 1e9 / frequency_hz nanoseconds.
  int64_t page_fault_period = 1;  // Page faults that one sample of them stands for.
  // True: one timestamp a sample. False: counts, aggregated. Weighted types have timestamps always.
  bool keep_timestamps = false;
  bool thread_attributes = true;  // thread.id and thread.name.
  bool cpu_attribute = false;     // cpu.logical_number.
  // A frame without a name gets one by its place, for receivers that show no others:
  // `FILE+0xADDRESS`.
  bool name_unnamed = false;
  std::string host_name, host_id, host_arch;  // Resource attributes; empty: left out.
  std::string os_type = "linux", os_version;
  // More of them, of the host: `host.…` and `os.…` instead of the fields above, the others where a
  // process does not say otherwise itself.
  std::vector<std::pair<std::string, std::string>> resource_attributes;
  // Keys of attributes, of samples and resources, that are left out whoever says them. Processes
  // whose resources are alike then have one in common.
  std::vector<std::string> left_out;
  std::string agent_version;  // InstrumentationScope "stackray".
};

// Immutable once made: retries, files and the local page all read these same bytes.
struct SealedBatch {
  std::string bytes;          // An ExportProfilesServiceRequest (= ProfilesData).
  uint64_t samples = 0;       // Events of all types, those of markers of lost samples included.
  uint64_t lost_samples = 0;  // Of these, events of `[lost: …]` markers.
  int64_t start_unix_ns = 0;  // Profile.time_unix_nano.
  int64_t duration_ns = 0;    // Profile.duration_nano.
};
using SealedBatchPtr = std::shared_ptr<const SealedBatch>;

class BatchBuilder {
 public:
  static constexpr int32_t kNeeded = -1;

  explicit BatchBuilder(BatchSettings settings);
  ~BatchBuilder();
  BatchBuilder(BatchBuilder&&) noexcept;
  BatchBuilder& operator=(BatchBuilder&&) noexcept;

  // The need questions. No side effect, no clock, no memory beyond this batch.
  int32_t FindFrame(const FrameKey& key) const;  // Location index > 0, or kNeeded.
  bool NeedsMapping(MappingKey key) const;
  bool NeedsProcess(const ProcessId& id) const;

  // Answers. Defining a key twice keeps the first. DefineFrame returns the location's index.
  // A frame whose mapping was not defined, is no good (its range, no build id) or does not hold the
  // address is kept without mapping and address; without a name too, it is named
  // `[FILE·fn_START]` by where its function begins, else `[FILE+0xADDRESS]`.
  int32_t DefineFrame(const FrameKey& key, const FrameSymbols& symbols);
  // A frame whose inlined functions and lines may come later. Until CompleteFrame(), and for good
  // where that never comes, it has the lines of `symbols`. Returns the location's index.
  int32_t DeferFrame(const FrameKey& key, const FrameSymbols& symbols);
  // Whether CompleteFrame() would change anything.
  bool AwaitsLines(int32_t location) const;
  // Gives a deferred frame its lines; between two samples or while one is added. False: the batch
  // would be over `limit_bytes` with them, and the frame keeps those it has. The first answer
  // counts.
  bool CompleteFrame(int32_t location, const std::vector<SourceLine>& lines, size_t limit_bytes);
  void DefineMapping(MappingKey key, const MappingInfo& info);
  void DefineProcess(const ProcessId& id, const ProcessInfo& info);

  // Adds a sample whose process was defined and whose frames came from this batch. Samples that
  // agree in everything (frames, attributes, span, origin, period, process) are added up.
  void AddSample(const SampleView& sample);
  // The CPU clock's period of the samples that are added from now on. A profile has one period, so
  // they go into others.
  void SetFrequency(double frequency_hz);

  // The length that Seal() would produce now: exact while no frame awaits its lines, else an upper
  // bound. O(1).
  size_t encoded_bytes() const;
  // Events of all types.
  uint64_t samples() const;

  // To keep under a hard size: Mark(), add one sample with all it needs, and when encoded_bytes()
  // went over the limit Rollback() to the mark, Seal(), and add that sample to the next batch. One
  // mark at a time; a new Mark() replaces it. Rollback restores the exact state of the mark.
  void Mark();
  void Rollback();

  // Ends the batch. The caller has followed every definition by a sample that uses it (Rollback()
  // takes back what a refused sample defined), so the dictionary has no orphans. `start` and `end`
  // bound all timestamps; they are widened where a sample lies outside. Equal calls in equal
  // order give the same bytes.
  // An empty batch (no samples) returns nullptr.
  SealedBatchPtr Seal(int64_t start_unix_ns, int64_t end_unix_ns) &&;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_BATCH_H_
