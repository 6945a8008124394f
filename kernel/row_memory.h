// The memory that the row store (symbolizer/) lays its tables into and that BPF reads.
// Threads: one writer at a time; readers look at the bytes without any lock
//          (bpf/shared/unwind_table.h).
#ifndef STACKRAY_KERNEL_ROW_MEMORY_H_
#define STACKRAY_KERNEL_ROW_MEMORY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "bpf/shared/jit_rows.h"
#include "bpf/shared/unwind_table.h"

namespace stackray {

class RowMemory {
 public:
  virtual ~RowMemory() = default;

  // CHUNK_MAP_BYTES bytes, zero when new; lives as long as this. nullptr: no such chunk.
  virtual uint8_t* Chunk(uint32_t index) = 0;
  // Makes one more chunk and returns its index (0, 1, 2, …). Errors: ResourceExhausted.
  virtual absl::StatusOr<uint32_t> AddChunk() = 0;

  // Gives a chunk's memory back; no entry and no program points into it any more. Its index may be
  // handed out again.
  virtual void ReleaseChunk(uint32_t index) = 0;

  // What the unwinder finds for a file. Errors: ResourceExhausted (table full).
  virtual absl::Status PutFile(const file_key& key, const file_entry& entry) = 0;
  virtual void RemoveFile(const file_key& key) = 0;
  // Files that fit; the store evicts before it puts more.
  virtual uint32_t max_files() const = 0;

  // Whether executable memory of no file is a file's text (bpf/moved_text.h). At most
  // MAX_MOVED_TEXTS are put.
  virtual void PutMovedText(const moved_key& /*key*/, const moved_text& /*text*/) {}
  virtual void RemoveMovedText(const moved_key& /*key*/) {}

  // Where a process's JIT code has rows (bpf/jit_rows.h). At most MAX_JIT_PROCESSES are put.
  virtual void PutJitProcess(const process_key& /*process*/, const jit_process& /*what*/) {}
  virtual void RemoveJitProcess(const process_key& /*process*/) {}
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_ROW_MEMORY_H_
