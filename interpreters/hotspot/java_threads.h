// Names of a JVM's threads as Java has them: the kernel's are cut at 15 bytes, and the launcher's
// main thread is called "java" there.
//
// Input:   the memory of a foreign process; at most kMostThreads of its threads are listed.
// Memory:  16 bytes a listed thread.
// Threads: one at a time.
#ifndef STACKRAY_INTERPRETERS_HOTSPOT_JAVA_THREADS_H_
#define STACKRAY_INTERPRETERS_HOTSPOT_JAVA_THREADS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "interpreters/hotspot/java_heap.h"
#include "interpreters/hotspot/layout.h"
#include "interpreters/stack_runtime.h"

namespace stackray::hotspot {

inline constexpr size_t kMostThreads = 4096;

// Is `command` what HotSpot makes of the name for the kernel (os_linux.cpp,
// os::set_native_thread_name()): its first 15 bytes, or from JDK 26 on its first seven and last six
// with ".." between them?
bool IsShortFor(std::string_view command, std::string_view name);

class JavaThreads : public ThreadNames {
 public:
  explicit JavaThreads(const Layout& layout) : layout_(layout), heap_(layout_) {}
  JavaThreads(const JavaThreads&) = delete;
  JavaThreads& operator=(const JavaThreads&) = delete;

  std::optional<std::string> NameOf(ProcessMemory& memory, uint32_t tid,
                                    std::string_view command) override;
  void List(ProcessMemory& memory) override;

 private:
  struct Thread {
    uint32_t tid = 0;
    uint64_t address = 0;  // Of its JavaThread.
  };
  uint32_t TidOf(ProcessMemory& memory, uint64_t thread) const;
  std::vector<uint64_t> Addresses(ProcessMemory& memory) const;

  const Layout layout_;
  JavaHeap heap_;
  std::vector<Thread> threads_;  // By tid.
};

}  // namespace stackray::hotspot

#endif  // STACKRAY_INTERPRETERS_HOTSPOT_JAVA_THREADS_H_
