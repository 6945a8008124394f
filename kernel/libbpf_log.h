// What libbpf has to say goes to whoever asked for it on that thread, and never to standard error
// by itself. Threads: any.
#ifndef STACKRAY_KERNEL_LIBBPF_LOG_H_
#define STACKRAY_KERNEL_LIBBPF_LOG_H_

#include <string>

namespace stackray {

// libbpf's warnings on this thread, verifier logs among them, while it lives. At most 64 KiB.
class LibbpfLog {
 public:
  LibbpfLog();
  ~LibbpfLog();
  LibbpfLog(const LibbpfLog&) = delete;
  LibbpfLog& operator=(const LibbpfLog&) = delete;
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string* const before_;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_LIBBPF_LOG_H_
