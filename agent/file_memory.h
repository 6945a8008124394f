// What a verb may use to read a file that anybody may have made: 64 MiB, and four times the file.
//
// Readers are bounded each in their own way; what is behind all of them is the kernel's bound of
// this process's data. A reader that meets it has failed, and the verb says so.
// Threads: one, and no other may be running.
#ifndef STACKRAY_AGENT_FILE_MEMORY_H_
#define STACKRAY_AGENT_FILE_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

namespace stackray {

// Of a file; what is none, as a pipe, counts as the longest batch.
uint64_t FileMemoryBytes(const std::string& path);

// Of this, what the samples that were read may take (ViewOptions::max_bytes).
size_t ViewBytesOf(const std::string& path);

// Calls `read` within FileMemoryBytes(path). Errors: `read`'s; ResourceExhausted: it needs more.
absl::Status WithinFileMemory(const std::string& path, absl::FunctionRef<absl::Status()> read);

}  // namespace stackray

#endif  // STACKRAY_AGENT_FILE_MEMORY_H_
