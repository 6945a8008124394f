// A session that samples this test's children, and the processes that its batches name: the same
// bytes that a receiver gets, each batch decoded alone.
#ifndef STACKRAY_TESTS_LIVE_PROCESS_RUN_H_
#define STACKRAY_TESTS_LIVE_PROCESS_RUN_H_

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/sampling/sampling_session.h"
#include "tests/reporter/decoded_batch.h"

namespace stackray::test {

// One resource of one batch.
struct SeenProcess {
  size_t batch = 0;
  std::string pid, command, path, name, created, container_id, service_name;
  DecodedResource resource;
  int64_t samples = 0;
  std::set<std::string> thread_names, functions;
};

class ProcessRun {
 public:
  // Samples what this process starts from now on. Errors: as SamplingSession::Create.
  static absl::StatusOr<std::unique_ptr<ProcessRun>> Start(double frequency_hz,
                                                           uint32_t ring_bytes = 16 << 20);
  ~ProcessRun();

  // Takes what is in the ring and ends the batch.
  void Seal();
  // Takes samples until `done`, or until it was not for `timeout_ms`. False: it was not.
  bool Until(int timeout_ms, const std::function<bool()>& done);

  SamplingSession& session() { return *session_; }
  // What sealed batches said.
  const std::vector<SeenProcess>& seen() const { return seen_; }
  std::vector<SeenProcess> Of(pid_t pid) const;

 private:
  ProcessRun() = default;
  void Keep(const DecodedBatch& batch);

  std::unique_ptr<SamplingSession> session_;
  std::vector<SeenProcess> seen_;
  size_t batches_ = 0;
};

// The function that children of this test burn their time in, as batches name it.
inline constexpr char kChildFunction[] = "ChildBurn";
extern "C" void ChildBurn(double ms);

// A child without an exec: burns `ms`, then runs `then` (which may exec) and ends. -1: no fork.
pid_t ForkBurning(
    double ms, const std::function<void()>& then = [] {});
// A program with arguments, PATH not searched, started by fork and exec. `environment` is added.
pid_t StartProgram(const std::vector<std::string>& argv,
                   const std::vector<std::string>& environment = {});
// Replaces this image; returns only when it cannot.
void Exec(const std::vector<std::string>& argv, const std::vector<std::string>& environment = {});
// Waits for its end and takes it away.
void Reap(pid_t pid);

// What /proc says, as an oracle for a process that lives.
std::string OwnPath();                                      // /proc/self/exe.
std::string OwnCommand();                                   // /proc/self/comm.
std::string ReadText(const std::string& path);              // Without the last newline.
std::string StatusLine(pid_t pid, const std::string& key);  // Of /proc/PID/status.

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_PROCESS_RUN_H_
