#include "kernel/bpf_row_memory.h"

#include <bpf/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace stackray {
namespace {

const size_t kPageBytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
const size_t kMappedBytes = (CHUNK_MAP_BYTES + kPageBytes - 1) / kPageBytes * kPageBytes;

}  // namespace

BpfRowMemory::BpfRowMemory(const Maps& maps, uint64_t* file_generation)
    : maps_(maps), file_generation_(file_generation) {
  chunks_.reserve(MAX_CHUNKS);
  spare_thread_ = std::thread([this] { MakeSpares(); });
}

BpfRowMemory::~BpfRowMemory() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  spare_thread_.join();
  for (MappedChunk& chunk : chunks_)
    if (chunk.bytes != nullptr) munmap(chunk.bytes, kMappedBytes);
}

absl::StatusOr<BpfRowMemory::MappedChunk> BpfRowMemory::MakeChunk(uint32_t index) {
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = BPF_F_MMAPABLE);
  MappedChunk chunk;
  chunk.fd = UniqueFd(
      bpf_map_create(BPF_MAP_TYPE_ARRAY, "chunk", sizeof(uint32_t), CHUNK_MAP_BYTES, 1, &options));
  if (!chunk.fd.valid())
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for unwind tables: ", strerror(errno)));
  void* bytes = mmap(nullptr, kMappedBytes, PROT_READ | PROT_WRITE, MAP_SHARED, chunk.fd.get(), 0);
  if (bytes == MAP_FAILED)
    return absl::ResourceExhaustedError(
        absl::StrCat("cannot map unwind tables: ", strerror(errno)));
  chunk.bytes = static_cast<uint8_t*>(bytes);
  const int value = chunk.fd.get();
  if (bpf_map_update_elem(maps_.chunks, &index, &value, BPF_ANY) != 0) {
    munmap(bytes, kMappedBytes);
    return absl::ResourceExhaustedError(absl::StrCat("cannot add a chunk: ", strerror(errno)));
  }
  return chunk;
}

void BpfRowMemory::MakeSpares() {
  absl::MutexLock lock(&mutex_);
  const auto wanted = [this]()
                          ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return stop_ || MayMakeSpare(); };
  for (;;) {
    mutex_.Await(absl::Condition(&wanted));
    if (stop_) return;
    const bool again = !released_.empty();
    const auto index = again ? released_.back() : static_cast<uint32_t>(chunks_.size());
    if (again) {
      released_.pop_back();
    } else {
      chunks_.emplace_back();
    }
    mutex_.Unlock();
    absl::StatusOr<MappedChunk> chunk = MakeChunk(index);
    mutex_.Lock();
    if (chunk.ok()) {
      chunks_[index] = *std::move(chunk);
      spare_ = index;
    } else {
      released_.push_back(index);
      failure_ = chunk.status();
    }
  }
}

absl::StatusOr<uint32_t> BpfRowMemory::AddChunk() {
  absl::MutexLock lock(&mutex_);
  const bool all_in_use =
      !spare_ && released_.empty() && chunks_.size() >= MAX_CHUNKS && chunks_.back().handed_out;
  if (all_in_use) return absl::ResourceExhaustedError("all chunks are in use");
  failure_ = absl::OkStatus();  // An earlier lack of memory may be over.
  const auto ready = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return spare_.has_value() || !failure_.ok();
  };
  mutex_.Await(absl::Condition(&ready));
  if (!spare_) return failure_;
  const uint32_t index = *spare_;
  spare_.reset();
  chunks_[index].handed_out = true;
  return index;
}

// The kernel's delete returns only when no program can hold the chunk any more (since Linux 5.0,
// bpf(2) on a map of maps waits for RCU); our descriptor keeps it alive until then.
void BpfRowMemory::ReleaseChunk(uint32_t index) {
  MappedChunk chunk;
  {
    absl::MutexLock lock(&mutex_);
    if (index >= chunks_.size() || !chunks_[index].handed_out) return;
    std::swap(chunk, chunks_[index]);
  }
  bpf_map_delete_elem(maps_.chunks, &index);
  munmap(chunk.bytes, kMappedBytes);
  absl::MutexLock lock(&mutex_);
  released_.push_back(index);
}

uint8_t* BpfRowMemory::Chunk(uint32_t index) {
  absl::MutexLock lock(&mutex_);
  return index < chunks_.size() && chunks_[index].handed_out ? chunks_[index].bytes : nullptr;
}

absl::Status BpfRowMemory::PutFile(const file_key& key, const file_entry& entry) {
  const int result = bpf_map_update_elem(maps_.files, &key, &entry, BPF_ANY);
  __atomic_fetch_add(file_generation_, 1, __ATOMIC_RELEASE);
  if (result == 0) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat("table of files: ", strerror(errno)));
}

void BpfRowMemory::RemoveFile(const file_key& key) {
  bpf_map_delete_elem(maps_.files, &key);
  __atomic_fetch_add(file_generation_, 1, __ATOMIC_RELEASE);
}

// What a CPU remembers of the mapping is forgotten with the generation. One that finds no room is
// asked for again.
void BpfRowMemory::PutMovedText(const moved_key& key, const moved_text& text) {
  bpf_map_update_elem(maps_.moved_texts, &key, &text, BPF_ANY);
  __atomic_fetch_add(file_generation_, 1, __ATOMIC_RELEASE);
}

void BpfRowMemory::RemoveMovedText(const moved_key& key) {
  bpf_map_delete_elem(maps_.moved_texts, &key);
  __atomic_fetch_add(file_generation_, 1, __ATOMIC_RELEASE);
}

uint64_t BpfRowMemory::chunk_bytes() const {
  absl::MutexLock lock(&mutex_);
  uint64_t sum = 0;
  for (const MappedChunk& chunk : chunks_) sum += chunk.bytes != nullptr ? kMappedBytes : 0;
  return sum;
}

void BpfRowMemory::PutJitProcess(const process_key& process, const jit_process& what) {
  bpf_map_update_elem(maps_.jit_processes, &process, &what, BPF_ANY);
}

void BpfRowMemory::RemoveJitProcess(const process_key& process) {
  bpf_map_delete_elem(maps_.jit_processes, &process);
}

}  // namespace stackray
