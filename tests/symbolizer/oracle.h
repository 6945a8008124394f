// What the tests of symbolizer/ share: files as ByteSources, and other programs to compare with.
#ifndef STACKRAY_TESTS_SYMBOLIZER_ORACLE_H_
#define STACKRAY_TESTS_SYMBOLIZER_ORACLE_H_

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "kernel/unique_fd.h"
#include "symbolizer/byte_source.h"
#include "tests/temporary_directory.h"

namespace stackray::test {

struct OpenedFile {
  UniqueFd fd;
  std::unique_ptr<FdSource> source;
};

// nullopt where the file does not exist on this machine.
inline std::optional<OpenedFile> OpenFile(const std::string& path) {
  OpenedFile file{UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC)), nullptr};
  struct stat status {};
  if (!file.fd.valid() || fstat(file.fd.get(), &status) != 0) return std::nullopt;
  file.source = std::make_unique<FdSource>(file.fd.get(), static_cast<uint64_t>(status.st_size));
  return file;
}

inline std::vector<uint8_t> ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Standard output of a shell command, line by line.
inline std::vector<std::string> RunLines(const std::string& command) {
  std::vector<std::string> lines;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      popen(("{ " + command + "; } 2>/dev/null").c_str(), "r"), pclose);
  if (!pipe) return lines;
  char* line = nullptr;
  size_t capacity = 0;
  for (ssize_t n; (n = getline(&line, &capacity, pipe.get())) >= 0;) {
    if (n > 0 && line[n - 1] == '\n') --n;
    lines.emplace_back(line, static_cast<size_t>(n));
  }
  free(line);
  return lines;
}

inline bool HasTool(const std::string& name) { return !RunLines("command -v " + name).empty(); }

// This test's own file: a program of C++ with symbols, under a name that other programs can open.
inline std::string OwnFile() { return std::filesystem::canonical("/proc/self/exe").string(); }

// Files of many makers: C, C++, Rust, Go, stripped and not. Those a machine lacks are skipped by
// name.
inline std::vector<std::string> InterestingFiles() {
  std::vector<std::string> files = {OwnFile(),
                                    "/lib/x86_64-linux-gnu/libc.so.6",
                                    "/lib/aarch64-linux-gnu/libc.so.6",
                                    "/usr/bin/python3",
                                    "/usr/bin/gdb",
                                    "/usr/bin/node",
                                    "/usr/local/go/bin/gofmt"};
  for (const std::string& line :
       RunLines("for lib in libstdc++.so libcrypto.so; do cc -print-file-name=$lib; done; "
                "ls $(rustc --print sysroot)/lib/librustc_driver*.so")) {
    if (!line.empty() && line[0] == '/') files.push_back(line);
  }
  std::erase_if(files, [](const std::string& file) { return !std::filesystem::exists(file); });
  return files;
}

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_SYMBOLIZER_ORACLE_H_
