// From a raw sample's words to locations of the open batch: the need question for every frame, and the
// resolvers behind it.
//
// A frame's key is made without any name: executable handle and ELF address, kernel image and address.
// Only when the open batch does not have the key are names looked up. Files that the open batch
// names are held until it is sealed (ForgetBatch), and the caller holds each process's files for as
// long as a sample of it can come, because a process that ended cannot be asked again; everything
// else here may be wiped at any moment.
//
// Memory:  symbol tables up to `name_cache_bytes`; a reference for each file of the open batch.
// Threads: one (the sample loop's).
#ifndef STACKRAY_AGENT_SAMPLING_FRAME_RESOLVER_H_
#define STACKRAY_AGENT_SAMPLING_FRAME_RESOLVER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "kernel/kernel_symbols.h"
#include "kernel/raw_sample.h"
#include "reporter/batch.h"
#include "symbolizer/executable_files.h"
#include "symbolizer/frame_names.h"

namespace stackray {

class FrameResolver {
 public:
  struct Counts {
    uint64_t questions = 0, resolved = 0;  // Need questions, and those answered "yes".
  };

  // `files` outlives this. `kernel` may be absent: kernel frames then have no names.
  FrameResolver(ExecutableFiles& files, std::optional<KernelSymbols> kernel,
                size_t name_cache_bytes);

  // Appends the locations of a stack, leaf first, to `frames`: kernel frames, then user frames.
  // Kernel code is named by what was at its address at `time_ns` (CLOCK_BOOTTIME).
  void AppendKernelFrames(std::span<const uint64_t> addresses, uint64_t time_ns,
                          BatchBuilder& batch, std::vector<int32_t>* frames);
  // Files that the process is seen to use for the first time are added to `process_files`, unless that
  // is nullptr or more files are open than may be.
  void AppendUserFrames(uint32_t pid, std::span<const uint64_t> words,
                        std::span<const code_range> ranges,
                        std::vector<ExecutableFilePtr>* process_files, BatchBuilder& batch,
                        std::vector<int32_t>* frames);
  void AppendMarker(const FrameKey& marker, BatchBuilder& batch, std::vector<int32_t>* frames);

  // The batch was sealed: nothing needs to be held for it any more.
  void ForgetBatch();
  // Takes what the kernel reported about its code; FollowCpus() once a second.
  void FollowKernel();
  void FollowCpus();
  // Drops every cache.
  void Wipe();
  // Another bound for the caches of names; what is over it goes at once.
  void SetCacheBytes(size_t bytes) { names_.SetCacheBytes(bytes); }

  const Counts& counts() const { return counts_; }
  size_t cache_bytes() const;

 private:
  // A file as the open batch holds it.
  struct HeldFile {
    ExecutableFilePtr file;  // nullptr: could not be had from process `tried_pid`.
    uint32_t tried_pid = 0;
  };

  // The file of a stack's range, asked for once a stack.
  struct RangeFile {
    const ExecutableFile* file = nullptr;
    bool asked = false;
  };
  struct UserStack {
    uint32_t pid;
    std::span<const code_range> ranges;
    std::vector<ExecutableFilePtr>* process_files;
  };

  const ExecutableFile* FileOf(const UserStack& stack, uint32_t range);
  ExecutableFilePtr HoldForBatch(uint32_t pid, const code_range& range);
  int32_t FindOrDefine(const FrameKey& key, BatchBuilder& batch, auto resolve);
  int32_t NativeFrame(const ExecutableFile& file, uint64_t file_offset, BatchBuilder& batch);
  int32_t FrameWithoutFile(const code_range& range, uint64_t file_offset, BatchBuilder& batch);
  int32_t KernelFrame(uint64_t address, uint64_t time_ns, BatchBuilder& batch);
  int32_t UserFrame(const UserStack& stack, uint64_t word, BatchBuilder& batch);

  ExecutableFiles& files_;
  std::optional<KernelSymbols> kernel_;
  FrameNames names_;
  absl::flat_hash_map<FileIdentity, HeldFile> held_;
  std::vector<RangeFile> range_files_;  // Of the stack at hand, by range.
  // The newest sample, and the one that was the newest when a batch was sealed last: by the next seal
  // nobody asks about kernel code from before it any more.
  uint64_t newest_ns_ = 0, newest_sealed_ns_ = 0;
  Counts counts_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_FRAME_RESOLVER_H_
