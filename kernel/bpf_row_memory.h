// RowMemory inside BPF maps: chunks are mmapable arrays in an array of maps.
#ifndef STACKRAY_KERNEL_BPF_ROW_MEMORY_H_
#define STACKRAY_KERNEL_BPF_ROW_MEMORY_H_

#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "kernel/row_memory.h"
#include "kernel/unique_fd.h"

namespace stackray {

// Putting a chunk into the outer map waits for RCU (5-8 ms), so one spare is made ahead on a thread
// of its own and AddChunk() hands it out at once.
class BpfRowMemory : public RowMemory {
 public:
  // The descriptors stay the caller's and outlive this.
  // `file_generation` is control.file_generation of the running programs; it outlives this too.
  struct Maps {
    int chunks = -1, files = -1, moved_texts = -1, jit_processes = -1;
    uint32_t max_files = 0;
  };
  BpfRowMemory(const Maps& maps, uint64_t* file_generation);
  ~BpfRowMemory() override;

  uint8_t* Chunk(uint32_t index) override;
  absl::StatusOr<uint32_t> AddChunk() override;
  void ReleaseChunk(uint32_t index) override;  // Waits for RCU.
  absl::Status PutFile(const file_key& key, const file_entry& entry) override;
  void RemoveFile(const file_key& key) override;
  void PutMovedText(const moved_key& key, const moved_text& text) override;
  void RemoveMovedText(const moved_key& key) override;
  void PutJitProcess(const process_key& process, const jit_process& what) override;
  void RemoveJitProcess(const process_key& process) override;
  uint32_t max_files() const override { return maps_.max_files; }

  uint64_t chunk_bytes() const;  // Of all chunks, the spare included.

 private:
  struct MappedChunk {
    UniqueFd fd;
    uint8_t* bytes = nullptr;  // nullptr: it was released.
    bool handed_out = false;
  };
  absl::StatusOr<MappedChunk> MakeChunk(uint32_t index);
  void MakeSpares();
  bool MayMakeSpare() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return !spare_ && failure_.ok() && (!released_.empty() || chunks_.size() < MAX_CHUNKS);
  }

  const Maps maps_;
  uint64_t* const file_generation_;
  mutable absl::Mutex mutex_;
  std::vector<MappedChunk> chunks_ ABSL_GUARDED_BY(mutex_);  // By index.
  std::optional<uint32_t> spare_ ABSL_GUARDED_BY(mutex_);
  std::vector<uint32_t> released_ ABSL_GUARDED_BY(mutex_);  // Indices to be used again.
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);  // Of the last attempt; OK when it worked.
  std::thread spare_thread_;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_BPF_ROW_MEMORY_H_
