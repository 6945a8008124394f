#include "agent/captures/directory_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <cstring>
#include <utility>

namespace stackray {
namespace {

constexpr uint32_t kNames = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
constexpr uint32_t kItself = IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
constexpr uint32_t kContents = IN_CLOSE_WRITE | IN_ATTRIB;
constexpr int kMostReads = 16;  // Of a flood of events; the next call goes on.

std::string WithoutSlashes(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

// "/a/b" of "/a/b/c"; "/" of "/a".
std::string ParentOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == 0 || slash == std::string::npos ? "/" : WithoutSlashes(path.substr(0, slash));
}

}  // namespace

DirectoryWatch::DirectoryWatch(std::string path)
    : path_(WithoutSlashes(std::move(path))), fd_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {}

void DirectoryWatch::Watch(const std::string& path, uint32_t events, Watched& watched) {
  const int number = inotify_add_watch(fd_.get(), path.c_str(), events);
  // A watch whose directory is gone has gone by itself.
  if (watched.number >= 0 && watched.number != number) inotify_rm_watch(fd_.get(), watched.number);
  watched.number = number;
}

void DirectoryWatch::Renew() {
  if (!works()) return;
  Watch(path_, kNames | kItself | kContents, directory_);
  std::string part = path_;
  do {
    const std::string above = ParentOf(part);
    above_.part = part.substr(part.rfind('/') + 1);
    Watch(above, kNames | kItself, above_);
    part = above;
  } while (above_.number < 0 && part != "/");
}

bool DirectoryWatch::Concerns(int number, const char* name) const {
  if (number == directory_.number) return true;
  // Without a name the ancestor itself went.
  return number == above_.number && (*name == '\0' || above_.part == name);
}

bool DirectoryWatch::Changed() {
  bool changed = false;
  alignas(inotify_event) char buffer[4096];
  for (int i = 0; works() && i < kMostReads; ++i) {
    const ssize_t got = read(fd_.get(), buffer, sizeof(buffer));
    if (got <= 0) break;
    for (ssize_t at = 0; at + static_cast<ssize_t>(sizeof(inotify_event)) <= got;) {
      inotify_event event;
      std::memcpy(&event, buffer + at, sizeof(event));
      const char* name = event.len > 0 ? buffer + at + sizeof(event) : "";
      // A watch that the kernel took away belongs to a directory that went, which said so itself.
      changed |= (event.mask & IN_Q_OVERFLOW) != 0 ||
                 ((event.mask & IN_IGNORED) == 0 && Concerns(event.wd, name));
      at += static_cast<ssize_t>(sizeof(event) + event.len);
    }
  }
  return changed;
}

}  // namespace stackray
