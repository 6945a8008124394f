// Ports of 127.0.0.1 for tests whose server comes, goes and comes back.
#ifndef STACKRAY_TESTS_REPORTER_EXPORT_TEST_PORTS_H_
#define STACKRAY_TESTS_REPORTER_EXPORT_TEST_PORTS_H_

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace stackray {

// Holds a free port without listening on it, so that connections are refused and no other process
// gets it; servers that set SO_REUSEPORT, as gRPC's and httplib's do, can listen there meanwhile.
class ReservedPort {
 public:
  ReservedPort();
  ~ReservedPort();
  ReservedPort(const ReservedPort&) = delete;
  ReservedPort& operator=(const ReservedPort&) = delete;
  uint16_t port() const { return port_; }

 private:
  int fd_ = -1;
  uint16_t port_ = 0;
};

// Accepts every connection and closes it at once, or keeps it open and never answers.
class ClosingListener {
 public:
  enum class Manner { kCloses, kNeverAnswers };
  explicit ClosingListener(uint16_t port = 0, Manner manner = Manner::kCloses);  // 0: any port.
  ~ClosingListener();
  ClosingListener(const ClosingListener&) = delete;
  ClosingListener& operator=(const ClosingListener&) = delete;
  uint16_t port() const { return port_; }
  int accepted() const { return accepted_; }

 private:
  int fd_ = -1;
  uint16_t port_ = 0;
  std::atomic<int> accepted_ = 0;
  std::vector<int> kept_;  // Of thread_.
  std::thread thread_;
};

}  // namespace stackray

#endif  // STACKRAY_TESTS_REPORTER_EXPORT_TEST_PORTS_H_
