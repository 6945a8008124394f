// A BPF program that burns time under a name of its own: a process of the test runs it over and
// over (BPF_PROG_TEST_RUN), so that nearly all of that process's samples hit its code.
#ifndef STACKRAY_TESTS_LIVE_BPF_BURNER_H_
#define STACKRAY_TESTS_LIVE_BPF_BURNER_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "kernel/unique_fd.h"

namespace stackray::test {

class BpfBurner {
 public:
  // Loads it; `seed` makes its code, and so its tag, another one. nullopt: BPF is refused here.
  static std::optional<BpfBurner> Load(const std::string& name, int32_t seed);
  BpfBurner(BpfBurner&& other) noexcept;
  BpfBurner& operator=(BpfBurner&& other) noexcept;
  ~BpfBurner();  // Stops and unloads it.

  // "bpf_prog_TAG_NAME", as the kernel calls it.
  const std::string& symbol() const { return symbol_; }
  uint64_t start() const { return start_; }
  uint64_t size_bytes() const { return size_bytes_; }

  // Starts the process that runs it; its pid, or 0.
  uint32_t Start();
  void Stop();

 private:
  BpfBurner() = default;
  bool Describe(const std::string& name);

  UniqueFd program_;
  std::string symbol_;
  uint64_t start_ = 0, size_bytes_ = 0;
  pid_t pid_ = 0;
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_BPF_BURNER_H_
