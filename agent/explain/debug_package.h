// Which package a file is from, so that its debug symbols can be named.
// Input:   a container's files, so nothing in them is trusted.
// Threads: functions without state.
#ifndef STACKRAY_AGENT_EXPLAIN_DEBUG_PACKAGE_H_
#define STACKRAY_AGENT_EXPLAIN_DEBUG_PACKAGE_H_

#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "symbolizer/rooted_files.h"

namespace stackray {

// ID of /etc/os-release: "debian", "fedora"; empty where it is not known.
std::string DistributionOf(const RootedFiles& root);

// The Debian packages that have these paths, by /var/lib/dpkg/info of that root. A path that no
// package has is left out. Reads 64 MiB of lists at most, and 131,072 names.
absl::flat_hash_map<std::string, std::string> DebianPackagesOf(
    const RootedFiles& root, const std::vector<std::string>& paths);

// The command that installs a file's debug symbols; empty where we know none. The path is quoted
// for a shell where it must be.
std::string DebugSymbolsCommand(const std::string& distribution, const std::string& package,
                                const std::string& path);

}  // namespace stackray

#endif  // STACKRAY_AGENT_EXPLAIN_DEBUG_PACKAGE_H_
