#include "agent/thread_context/file_contexts.h"

#include <fmt/format.h>

#include <utility>

#include "interpreters/thread_context/go_labels.h"
#include "symbolizer/elf_image.h"

namespace stackray {
namespace {

constexpr context_kind kWithVariable[] = {CONTEXT_OTEL, CONTEXT_NODE, CONTEXT_CUSTOM_LABELS,
                                          CONTEXT_ELASTIC};

void AddTrouble(std::string_view name, const absl::Status& status, std::string* trouble) {
  *trouble +=
      fmt::format("{}{}: {}", trouble->empty() ? "" : "; ", name, std::string(status.message()));
}

// Debian's musl maps its loader as ".../x86_64-linux-musl/libc.so": the name that the program asks
// for says more.
bool AsksForMusl(const ElfImage& image, const ByteSource& source) {
  constexpr uint64_t kMostBytes = 256;
  const ElfSection* const section = image.FindSection(".interp");
  if (section == nullptr) return false;
  const auto bytes = source.Read(section->file_offset, section->size_bytes, kMostBytes);
  return bytes.ok() && std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size())
                               .find("/ld-musl-") != std::string_view::npos;
}

FileContexts Look(const ExecutableFile& file, FileContextCache::Role role) {
  const bool is_program = role != FileContextCache::Role::kLibrary;
  const TlsSymbols where =
      role == FileContextCache::Role::kWritingProgram ? TlsSymbols::kAll : TlsSymbols::kDynamic;
  FileContexts found;
  const absl::StatusOr<ElfImage> image = ElfImage::Create(*file.source);
  if (!image.ok()) return found;
  found.machine = image->machine();
  for (const context_kind kind : kWithVariable) {
    const absl::StatusOr<TlsVariable> variable =
        FindTlsVariable(*image, *file.source, ContextVariable(kind), is_program, where);
    if (variable.ok()) {
      found.variables.push_back({kind, *variable});
    } else if (!absl::IsNotFound(variable.status())) {
      AddTrouble(ContextVariable(kind), variable.status(), &found.trouble);
    }
  }
  if (!is_program) return found;
  found.is_of_musl = AsksForMusl(*image, *file.source);
  if (const auto go = FindGoLabels(*image, *file.source); go.ok()) {
    found.go = *go;
  } else if (!absl::IsNotFound(go.status())) {
    AddTrouble("Go", go.status(), &found.trouble);
  }
  return found;
}

}  // namespace

std::string_view ContextVariable(context_kind kind) {
  switch (kind) {
    case CONTEXT_OTEL: return "otel_thread_ctx_v1";
    case CONTEXT_NODE: return "otel_thread_ctx_nodejs_v1";
    case CONTEXT_CUSTOM_LABELS: return "custom_labels_current_set";
    case CONTEXT_ELASTIC: return "elastic_apm_profiling_correlation_tls_v1";
    default: return "";
  }
}

const FileContexts& FileContextCache::Of(const ExecutableFile& file, Role role) {
  const std::pair<FileIdentity, Role> key(file.identity, role);
  if (const auto known = files_.find(key); known != files_.end()) return *known->second;
  if (files_.size() >= kMostFiles) files_.clear();
  ++looks_;
  return *(files_[key] = std::make_unique<const FileContexts>(Look(file, role)));
}

}  // namespace stackray
