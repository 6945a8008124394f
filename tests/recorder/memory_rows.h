// The row store's memory as plain memory, for tests and the recorder.
// Threads: Chunk() from any while one other thread adds chunks.
#ifndef STACKRAY_TESTS_RECORDER_MEMORY_ROWS_H_
#define STACKRAY_TESTS_RECORDER_MEMORY_ROWS_H_

#include <array>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "kernel/row_memory.h"

namespace stackray {

class MemoryRows : public RowMemory {
 public:
  explicit MemoryRows(uint32_t max_chunks = MAX_CHUNKS, uint32_t max_files = 1000)
      : max_chunks_(max_chunks), max_files_(max_files) {}
  ~MemoryRows() override {
    for (const std::atomic<uint8_t*>& chunk : chunks_) delete[] chunk.load();
  }

  uint8_t* Chunk(uint32_t index) override {
    return index < chunks_.size() ? chunks_[index].load(std::memory_order_acquire) : nullptr;
  }
  absl::StatusOr<uint32_t> AddChunk() override {
    uint32_t index = 0;
    while (index < chunk_count_ && Chunk(index) != nullptr) ++index;
    if (index < chunk_count_) {  // One that was released.
      chunks_[index].store(new uint8_t[CHUNK_MAP_BYTES](), std::memory_order_release);
      return index;
    }
    if (chunk_count_ >= max_chunks_) return absl::ResourceExhaustedError("no more chunks");
    chunks_[chunk_count_].store(new uint8_t[CHUNK_MAP_BYTES](), std::memory_order_release);
    return chunk_count_++;
  }
  void ReleaseChunk(uint32_t index) override { delete[] chunks_[index].exchange(nullptr); }
  uint32_t chunks_in_use() const {
    uint32_t sum = 0;
    for (const std::atomic<uint8_t*>& chunk : chunks_) sum += chunk.load() != nullptr ? 1 : 0;
    return sum;
  }
  absl::Status PutFile(const file_key& key, const file_entry& entry) override {
    const std::string name = NameOf(key);
    if (!files_.contains(name) && files_.size() >= max_files_)
      return absl::ResourceExhaustedError("no more files");
    files_[name] = entry;
    return absl::OkStatus();
  }
  void RemoveFile(const file_key& key) override { files_.erase(NameOf(key)); }
  uint32_t max_files() const override { return max_files_; }

  // What a BPF program would find; nullptr: nothing.
  const file_entry* File(const file_key& key) const {
    const auto it = files_.find(NameOf(key));
    return it == files_.end() ? nullptr : &it->second;
  }
  size_t file_count() const { return files_.size(); }

 private:
  static std::string NameOf(const file_key& key) {
    return std::string(reinterpret_cast<const char*>(&key), sizeof(key));
  }
  const uint32_t max_chunks_, max_files_;
  uint32_t chunk_count_ = 0;
  std::array<std::atomic<uint8_t*>, MAX_CHUNKS> chunks_ = {};
  std::map<std::string, file_entry> files_;
};

// The bytes of a file's page as they lie in the store. Empty: not there.
inline std::span<uint8_t> FindBlob(RowMemory& memory, const file_entry& entry, uint32_t page) {
  const auto at = [&](uint32_t handle) {
    return memory.Chunk(handle >> HANDLE_CHUNK_SHIFT & HANDLE_CHUNK_MASK) +
           (handle & HANDLE_OFFSET_MASK) * HANDLE_UNIT;
  };
  if (page - entry.first_page >= entry.page_count) return {};
  uint32_t handle;
  std::memcpy(&handle, at(entry.directory) + 4 * size_t{page - entry.first_page}, sizeof(handle));
  if ((handle & HANDLE_MASK) == 0) return {};
  page_header header;
  std::memcpy(&header, at(handle), sizeof(header));
  return {at(handle), header.size_bytes};
}

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_MEMORY_ROWS_H_
