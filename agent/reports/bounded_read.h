// Files of /proc, /sys and cgroups, which have no size of their own.
// Threads: any.
#ifndef STACKRAY_AGENT_REPORTS_BOUNDED_READ_H_
#define STACKRAY_AGENT_REPORTS_BOUNDED_READ_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace stackray {

// The first `most` bytes of a file; all of it where that is less. `is_cut`: there was more.
// Errors: as the kernel says; never waits for a pipe, a device, or a process whose file it is.
absl::StatusOr<std::string> ReadBounded(const std::string& path, size_t most,
                                        bool* is_cut = nullptr);

// The names in a directory that are numbers, ascending, at most `most`.
std::vector<uint32_t> NumbersIn(const std::string& directory, size_t most);

// The number behind `key` in lines of "key value…" or "key: value…"; nullopt: none.
std::optional<uint64_t> NumberOf(const std::string& text, const std::string& key);

}  // namespace stackray

#endif  // STACKRAY_AGENT_REPORTS_BOUNDED_READ_H_
