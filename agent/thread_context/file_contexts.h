// What one executable file has for a thread's context: the thread-local variables of the
// conventions that bpf/shared/thread_context.h lists.
// Input:   a foreign file, so nothing in it is trusted.
// Memory:  some 200 bytes a file, at most kMostFiles; one that is forgotten is looked at again.
// Threads: one at a time.
#ifndef STACKRAY_AGENT_THREAD_CONTEXT_FILE_CONTEXTS_H_
#define STACKRAY_AGENT_THREAD_CONTEXT_FILE_CONTEXTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "bpf/shared/thread_context.h"
#include "interpreters/thread_context/tls_variable.h"
#include "profile/executable.h"
#include "symbolizer/executable_files.h"

namespace stackray {

// The variable's name; "" for kinds without one (Go's).
std::string_view ContextVariable(context_kind kind);

struct FileContexts {
  struct Variable {
    context_kind kind;
    TlsVariable variable;
  };
  uint16_t machine = 0;
  bool is_of_musl = false;  // A program whose loader is musl's.
  std::vector<Variable> variables;
  context_place go = {};  // Of a Go program; CONTEXT_NONE: it is none, or see `trouble`.
  // Why a variable that is there cannot be used: "otel_thread_ctx_v1: no relocation leads …".
  std::string trouble;
};

class FileContextCache {
 public:
  static constexpr size_t kMostFiles = 8192;

  // What a file is looked at for.
  enum class Role {
    kLibrary,
    kProgram,         // A process was started with it.
    kWritingProgram,  // And publishes the keys of a thread context: all symbols are asked.
  };
  // Valid until the next call.
  const FileContexts& Of(const ExecutableFile& file, Role role);
  uint64_t looks() const { return looks_; }

 private:
  absl::flat_hash_map<std::pair<FileIdentity, Role>, std::unique_ptr<const FileContexts>> files_;
  uint64_t looks_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_THREAD_CONTEXT_FILE_CONTEXTS_H_
