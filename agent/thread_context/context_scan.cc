#include "agent/thread_context/context_scan.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernel/process_files.h"
#include "symbolizer/executable_info.h"

namespace stackray {
namespace {

constexpr size_t kMostFiles = 1024;  // Of one process.

// What is added to the file's ELF addresses. A mapping begins at the page of its segment's first
// byte, which may be in front of that byte, where the file has another segment.
std::optional<uint64_t> BiasOf(const ExecutableInfo& file, const code_range& range) {
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  for (const ElfSegment& segment : file.segments) {
    const uint64_t begin = segment.file_offset & ~(page - 1);
    if (segment.executable && range.file_offset >= begin &&
        range.file_offset < segment.file_offset + segment.file_bytes)
      return range.start - (segment.address + range.file_offset - segment.file_offset);
  }
  return std::nullopt;
}

class ContextScan {
 public:
  ContextScan(const ContextScanRequest& request, ExecutableFiles& files, FileContextCache& cache,
              ProcessMemory& memory)
      : request_(request), cache_(cache), memory_(memory), entry_(ReadProgramEntry(request.pid)) {
    for (const code_range& range : Ranges()) {
      if (range.kind != RANGE_FILE || files_.size() == kMostFiles) continue;
      absl::StatusOr<ExecutableFilePtr> file = files.Get(request.pid, range);
      if (!file.ok()) continue;
      const bool is_program = range.start <= entry_ && entry_ < range.end;
      files_.push_back({range, *std::move(file), is_program});
      if (is_program && cache_.Of(*files_.back().file, RoleOf(files_.back())).is_of_musl)
        library_ = CLibrary::kMusl;
    }
  }

  ThreadContextFinding Run() {
    for (const MappedFile& file : files_) LookAt(file);
    std::ranges::stable_sort(finding_.places, [this](const auto& a, const auto& b) {
      return Strength(a.kind) < Strength(b.kind);
    });
    if (finding_.places.size() > CONTEXT_PLACES) finding_.places.resize(CONTEXT_PLACES);
    if (request_.published != CONTEXT_NONE && !HasPublished() && finding_.trouble.empty())
      finding_.trouble = Missing();
    return std::move(finding_);
  }

 private:
  struct MappedFile {
    code_range range;
    ExecutableFilePtr file;
    bool is_program;
  };

  std::vector<code_range> Ranges() const {
    if (!request_.all_files) {
      const auto one = FindExecutableRange(request_.pid, entry_);
      if (one.ok()) return {*one};
    }
    std::vector<code_range> all =
        ReadExecutableRanges(request_.pid).value_or(std::vector<code_range>());
    if (!request_.all_files)
      std::erase_if(all,
                    [this](const code_range& r) { return entry_ < r.start || entry_ >= r.end; });
    return all;
  }

  // What says itself that it is used comes before what could be.
  int Strength(context_kind kind) const {
    if (kind == request_.published) return 0;
    return kind == CONTEXT_GO_LABELS || kind == CONTEXT_GO_MAP ? 2 : 1;
  }
  // A record is only looked for where the process publishes its keys, as the OTEP has it.
  bool IsWanted(context_kind kind) const {
    return (kind != CONTEXT_OTEL && kind != CONTEXT_NODE) || kind == request_.published;
  }
  bool HasPublished() const {
    return std::ranges::any_of(finding_.places, [this](const auto& place) {
      return place.kind == request_.published ||
             (request_.published == CONTEXT_GO_LABELS && place.kind == CONTEXT_GO_MAP);
    });
  }
  std::string Missing() const {
    const std::string_view name = ContextVariable(request_.published);
    if (name.empty()) return "the program publishes Go's labels and is none of Go's";
    return absl::StrCat("none of ", files_.size(), " mapped files defines ", std::string(name));
  }

  FileContextCache::Role RoleOf(const MappedFile& mapped) const {
    if (!mapped.is_program) return FileContextCache::Role::kLibrary;
    return request_.published == CONTEXT_OTEL ? FileContextCache::Role::kWritingProgram
                                              : FileContextCache::Role::kProgram;
  }

  void LookAt(const MappedFile& mapped) {
    const FileContexts& contexts = cache_.Of(*mapped.file, RoleOf(mapped));
    const std::string& path = mapped.file->info.path;
    for (const FileContexts::Variable& variable : contexts.variables)
      if (IsWanted(variable.kind)) Resolve(mapped, contexts.machine, variable);
    if (contexts.go.kind != CONTEXT_NONE)
      finding_.places.push_back(
          {static_cast<context_kind>(contexts.go.kind), path, {.place = contexts.go}});
    if (!contexts.trouble.empty()) AddTrouble(path, contexts.trouble);
  }

  void Resolve(const MappedFile& mapped, uint16_t machine, const FileContexts::Variable& variable) {
    const std::optional<uint64_t> bias = BiasOf(mapped.file->info, mapped.range);
    const bool is_known = std::ranges::any_of(finding_.places, [&](const auto& place) {
      return place.kind == variable.kind && place.file == mapped.file->info.path;
    });
    if (!bias || is_known) return;  // A file has several executable mappings.
    absl::StatusOr<TlsPlace> place =
        ResolveTls(variable.variable, *bias, machine, library_, memory_);
    if (!place.ok()) {
      AddTrouble(mapped.file->info.path, std::string(ContextVariable(variable.kind)) + ": " +
                                             std::string(place.status().message()));
      return;
    }
    place->place.kind = variable.kind;
    finding_.places.push_back({variable.kind, mapped.file->info.path, *place});
  }

  void AddTrouble(const std::string& path, const std::string& what) {
    constexpr size_t kMostBytes = 1000;
    if (finding_.trouble.size() < kMostBytes)
      absl::StrAppend(&finding_.trouble, finding_.trouble.empty() ? "" : "; ", path, ": ", what);
  }

  const ContextScanRequest request_;
  FileContextCache& cache_;
  ProcessMemory& memory_;
  const uint64_t entry_;
  CLibrary library_ = CLibrary::kGlibc;
  std::vector<MappedFile> files_;
  ThreadContextFinding finding_;
};

}  // namespace

ThreadContextFinding ScanForContexts(const ContextScanRequest& request, ExecutableFiles& files,
                                     FileContextCache& cache, ProcessMemory& memory) {
  return ContextScan(request, files, cache, memory).Run();
}

}  // namespace stackray
