#include "agent/explain/code_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "agent/explain/debug_package.h"
#include "kernel/process_files.h"
#include "symbolizer/build_id.h"
#include "symbolizer/cfi/cfi_source.h"
#include "symbolizer/debug_files.h"
#include "symbolizer/go/go_table.h"

namespace stackray {
namespace {

bool Has(const ElfImage& image, std::string_view name) {
  const ElfSection* section = image.FindSection(name);
  return section != nullptr && section->type != SHT_NOBITS && section->size_bytes > 0;
}

bool HasDebugInfo(const ElfImage& image) {
  return Has(image, ".debug_info") || Has(image, ".zdebug_info");
}

UnwindSource UnwindOf(const ElfImage& image, const ByteSource& source, bool is_go) {
  const UnwindTables::Kind first = UnwindTables::Create(source, image).ok()
                                       ? UnwindTables::FirstOf(source, image)
                                       : UnwindTables::Kind::kNone;
  if (first == UnwindTables::Kind::kEhFrame) return UnwindSource::kEhFrame;
  if (is_go) return UnwindSource::kGo;  // Its .debug_frame is not needed.
  switch (first) {
    case UnwindTables::Kind::kDebugFrame: return UnwindSource::kDebugFrame;
    case UnwindTables::Kind::kSframe: return UnwindSource::kSframe;
    default: return UnwindSource::kNone;
  }
}

}  // namespace

CodeFacts ExamineCode(uint32_t pid, const ExecutableFile& file) {
  CodeFacts facts{.path = file.info.path, .build_id = file.info.gnu_build_id};
  const absl::StatusOr<ElfImage> image = ElfImage::Create(*file.source);
  if (!image.ok()) {
    facts.problem = std::string(image.status().message());
    return facts;
  }
  facts.has_go_table = GoTable::Open(*image, *file.source).ok();
  facts.unwind = UnwindOf(*image, *file.source, facts.has_go_table);
  facts.has_symtab = Has(*image, ".symtab");
  facts.has_dynsym = Has(*image, ".dynsym");
  facts.has_packed_symbols = Has(*image, ".gnu_debugdata");
  facts.has_debug_info = HasDebugInfo(*image);
  if (!file.fd.valid()) return facts;  // The vDSO is nobody's file.
  if (!facts.has_debug_info) {
    const DebugFiles related("/proc", pid, "/");
    facts.debug_file = related.FindSeparate(*image, *file.source, file.info).path;
  }
  return facts;
}

void FindPackages(uint32_t pid, std::vector<CodeFacts>* files) {
  const RootedFiles root = RootedFiles::OfProcess("/proc", pid);
  const std::string distribution = DistributionOf(root);
  std::vector<std::string> paths;
  for (CodeFacts& facts : *files) {
    facts.distribution = distribution;
    paths.push_back(facts.path);
  }
  const auto packages = DebianPackagesOf(root, paths);
  for (CodeFacts& facts : *files)
    if (const auto found = packages.find(facts.path); found != packages.end())
      facts.package = found->second;
}

namespace {

// A file has several mappings.
void AddUnreadable(const std::string& path, const absl::Status& status, MappedCode* code) {
  std::string problem(status.message());
  if (problem.starts_with(path + ": ")) problem.erase(0, path.size() + 2);
  const bool known =
      std::ranges::any_of(code->files, [&](const CodeFacts& facts) { return facts.path == path; });
  if (!known) code->files.push_back({.path = path, .problem = std::move(problem)});
}

}  // namespace

absl::StatusOr<MappedCode> ExamineProcess(uint32_t pid) {
  const absl::StatusOr<std::vector<code_range>> ranges = ReadExecutableRanges(pid);
  if (!ranges.ok()) return ranges.status();
  ExecutableFiles files(1024);
  MappedCode code;
  absl::flat_hash_set<uint64_t> seen;
  for (const code_range& range : *ranges) {
    if (range.kind == RANGE_ANON) {
      code.anonymous_bytes += range.end - range.start;
      continue;
    }
    const absl::StatusOr<ExecutableFilePtr> file = files.Get(pid, range);
    if (absl::IsPermissionDenied(file.status()) || absl::IsUnavailable(file.status()))
      AddUnreadable(PathOfRange(pid, range), file.status(), &code);
    if (file.ok() && seen.insert((*file)->handle).second)
      code.files.push_back(ExamineCode(pid, **file));
  }
  FindPackages(pid, &code.files);
  return code;
}

}  // namespace stackray
