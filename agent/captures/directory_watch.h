// Says when something may have changed in a directory that may be a symbolic link, be swapped, be
// removed and made again, or not exist yet.
//
// inotify watches the directory that the path leads to, and the nearest directory above it that
// exists, for the path's next part in it. What it does not see (a link further along the path that
// is swapped) needs a look now and then.
// Threads: one. Memory: one descriptor, two watches.
#ifndef STACKRAY_AGENT_CAPTURES_DIRECTORY_WATCH_H_
#define STACKRAY_AGENT_CAPTURES_DIRECTORY_WATCH_H_

#include <string>

#include "kernel/unique_fd.h"

namespace stackray {

class DirectoryWatch {
 public:
  // `path` is absolute.
  explicit DirectoryWatch(std::string path);

  // False: the kernel gives no inotify, so Changed() is never true.
  bool works() const { return fd_.valid(); }
  int fd() const { return fd_.get(); }  // Readable when Changed() has something to look at.

  // Since the last call. Never waits.
  bool Changed();
  // Watches what the path leads to now. Call it before the directory is read.
  void Renew();

 private:
  struct Watched {
    int number = -1;   // The kernel's, of the watch; -1: none.
    std::string part;  // Of an ancestor: what is looked for in it.
  };
  void Watch(const std::string& path, uint32_t events, Watched& watched);
  bool Concerns(int number, const char* name) const;

  const std::string path_;
  const UniqueFd fd_;
  Watched directory_, above_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_CAPTURES_DIRECTORY_WATCH_H_
