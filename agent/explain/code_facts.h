// What one executable file offers for walking stacks through its code and for naming it.
// Input:   a foreign file, so nothing in it is trusted.
// Threads: functions without state.
#ifndef STACKRAY_AGENT_EXPLAIN_CODE_FACTS_H_
#define STACKRAY_AGENT_EXPLAIN_CODE_FACTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "symbolizer/executable_files.h"

namespace stackray {

enum class UnwindSource {
  kEhFrame,     // .eh_frame.
  kDebugFrame,  // .debug_frame alone.
  kSframe,      // .sframe alone.
  kGo,          // Go keeps frame pointers.
  kNone,        // No table: frame pointers, if the code keeps them.
  kUnknown,     // The file could not be read.
};

struct CodeFacts {
  std::string path;     // As the process knows it.
  std::string problem;  // Why the file could not be read; empty: it could.
  UnwindSource unwind = UnwindSource::kUnknown;
  bool has_symtab = false, has_dynsym = false;
  bool has_packed_symbols = false;  // .gnu_debugdata.
  bool has_go_table = false;
  bool has_debug_info = false;  // In the file itself.
  std::string debug_file;       // Where it is otherwise; empty: nowhere.
  std::string build_id;         // GNU's.
  std::string package;          // That owns the file, in Debian's way; empty: not known.
  std::string distribution;     // ID of os-release in the process's root; empty: not known.

  bool has_lines() const { return has_debug_info || !debug_file.empty() || has_go_table; }
};

// Of a file that process `pid` maps, without its package.
CodeFacts ExamineCode(uint32_t pid, const ExecutableFile& file);
// Adds packages and distribution.
void FindPackages(uint32_t pid, std::vector<CodeFacts>* files);

// Of everything that the process maps as code now, each file once; how much executable memory has
// no file.
struct MappedCode {
  std::vector<CodeFacts> files;
  uint64_t anonymous_bytes = 0;
};
// Errors: NotFound (no such process).
absl::StatusOr<MappedCode> ExamineProcess(uint32_t pid);

}  // namespace stackray

#endif  // STACKRAY_AGENT_EXPLAIN_CODE_FACTS_H_
