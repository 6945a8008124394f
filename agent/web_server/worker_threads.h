// A fixed number of threads with a bounded queue, as cpp-httplib's task queue (its own has no
// bound).
#ifndef STACKRAY_AGENT_WEB_SERVER_WORKER_THREADS_H_
#define STACKRAY_AGENT_WEB_SERVER_WORKER_THREADS_H_

#include <httplib.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace stackray {

class WorkerThreads final : public httplib::TaskQueue {
 public:
  // `waiting` is kept at the number of queued tasks; it outlives this.
  WorkerThreads(size_t threads, size_t longest_queue, std::atomic<size_t>& waiting);
  ~WorkerThreads() override;

  // Blocks while the queue is full: connections then wait in the kernel. Each task runs exactly
  // once, since it owns a socket.
  void enqueue(std::function<void()> task) override;
  // Runs what is queued, then ends the threads.
  void shutdown() override;

 private:
  void Work();

  const size_t longest_queue_;
  std::atomic<size_t>& waiting_;
  std::mutex mutex_;  // Guards all below but the threads.
  std::condition_variable has_task_, has_room_;
  std::deque<std::function<void()>> tasks_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_WORKER_THREADS_H_
