#include "agent/web_server/worker_threads.h"

#include <pthread.h>

#include <utility>

namespace stackray {

WorkerThreads::WorkerThreads(size_t threads, size_t longest_queue, std::atomic<size_t>& waiting)
    : longest_queue_(longest_queue), waiting_(waiting) {
  for (size_t i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { Work(); });
    pthread_setname_np(threads_.back().native_handle(), "stackray-http");
  }
}

WorkerThreads::~WorkerThreads() { shutdown(); }

void WorkerThreads::enqueue(std::function<void()> task) {
  std::unique_lock lock(mutex_);
  has_room_.wait(lock, [this] { return tasks_.size() < longest_queue_; });
  tasks_.push_back(std::move(task));
  waiting_ = tasks_.size();
  has_task_.notify_one();
}

void WorkerThreads::Work() {
  while (true) {
    std::unique_lock lock(mutex_);
    has_task_.wait(lock, [this] { return !tasks_.empty() || ending_; });
    if (tasks_.empty()) return;
    const std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    waiting_ = tasks_.size();
    has_room_.notify_one();
    lock.unlock();
    task();
  }
}

void WorkerThreads::shutdown() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    has_task_.notify_all();
  }
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

}  // namespace stackray
