// A file as sampled code comes from it, opened by path instead of through a process.
#ifndef STACKRAY_TESTS_SYMBOLIZER_EXECUTABLE_H_
#define STACKRAY_TESTS_SYMBOLIZER_EXECUTABLE_H_

#include <memory>
#include <string>
#include <utility>

#include "symbolizer/executable_files.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {

// `path` in `root`, under which its process would know it. nullptr: there is no such file. `handle`
// is also its inode, which only has to differ from others.
inline ExecutableFilePtr OpenExecutable(const std::string& root, const std::string& path,
                                        uint64_t handle) {
  auto opened = OpenFile(root + "/" + path);
  if (!opened) return nullptr;
  auto file = std::make_shared<ExecutableFile>();
  file->handle = handle;
  file->identity.inode = handle;
  file->info = *DescribeExecutable(*opened->source, path);
  file->fd = std::move(opened->fd);
  file->source = std::move(opened->source);
  return file;
}

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_SYMBOLIZER_EXECUTABLE_H_
