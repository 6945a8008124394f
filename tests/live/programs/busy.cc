// A kind of load that goes on until it is killed.
//
//   busy KIND [PATH]   kinds: sleepers mutexes pipes sync server client forker yielders nice
// sync writes to PATH, server and client meet at PATH (an abstract Unix socket).
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kConnections = 8;
constexpr size_t kMessageBytes = 64;

void SleepUs(long us) {
  const timespec time = {us / 1'000'000, us % 1'000'000 * 1000};
  nanosleep(&time, nullptr);
}

void SpinUs(long us) {
  timespec begin, now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  do {
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1'000'000L + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

void Sleepers() {
  std::vector<std::thread> threads;
  for (const long us : {1000L, 7000L, 40'000L, 300'000L})
    threads.emplace_back([us] {
      for (;;) {
        SleepUs(us);
        SpinUs(us / 20);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void Mutexes() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      for (;;) {
        pthread_mutex_lock(&mutex);
        SleepUs(400);
        SpinUs(50);
        pthread_mutex_unlock(&mutex);
        SpinUs(20);
      }
    });
  for (std::thread& thread : threads) thread.join();
}

void Pipes() {
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) return;
  std::thread other([&] {
    char byte;
    while (read(there[0], &byte, 1) == 1 && write(back[1], &byte, 1) == 1) continue;
  });
  char byte = 'x';
  while (write(there[1], &byte, 1) == 1 && read(back[0], &byte, 1) == 1) SpinUs(5);
  other.join();
}

void Sync(const char* path) {
  const int file = open(path, O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0600);
  const std::vector<char> block(64 << 10, 'x');
  for (int i = 0; file >= 0; ++i) {
    if (pwrite(file, block.data(), block.size(), static_cast<off_t>(i % 64) * (64 << 10)) < 0)
      return;
    fdatasync(file);
    SpinUs(100);
  }
}

sockaddr_un At(const char* path, socklen_t* size) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path + 1, path, sizeof(address.sun_path) - 2);
  *size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + strlen(path));
  return address;
}

void Server(const char* path) {
  socklen_t size;
  const sockaddr_un address = At(path, &size);
  const int listener = socket(AF_UNIX, SOCK_STREAM, 0), epoll = epoll_create1(0);
  if (bind(listener, reinterpret_cast<const sockaddr*>(&address), size) != 0) return;
  listen(listener, kConnections);
  epoll_event event = {.events = EPOLLIN, .data = {.fd = listener}};
  epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event);
  for (;;) {
    epoll_event events[16];
    const int count = epoll_wait(epoll, events, 16, -1);
    for (int i = 0; i < count; ++i) {
      if (events[i].data.fd == listener) {
        event.data.fd = accept(listener, nullptr, nullptr);
        epoll_ctl(epoll, EPOLL_CTL_ADD, event.data.fd, &event);
        continue;
      }
      char message[kMessageBytes];
      const ssize_t got = read(events[i].data.fd, message, sizeof(message));
      SpinUs(30);
      if (got <= 0) {
        close(events[i].data.fd);
      } else {
        (void)!write(events[i].data.fd, message, static_cast<size_t>(got));
      }
    }
  }
}

void Client(const char* path) {
  socklen_t size;
  const sockaddr_un address = At(path, &size);
  const int epoll = epoll_create1(0);
  for (int i = 0; i < kConnections; ++i) {
    const int connection = socket(AF_UNIX, SOCK_STREAM, 0);
    while (connect(connection, reinterpret_cast<const sockaddr*>(&address), size) != 0)
      SleepUs(10'000);
    epoll_event event = {.events = EPOLLIN, .data = {.fd = connection}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, connection, &event);
    (void)!write(connection, "ping", 4);
  }
  for (;;) {
    epoll_event events[16];
    const int count = epoll_wait(epoll, events, 16, -1);
    for (int i = 0; i < count; ++i) {
      char message[kMessageBytes];
      const ssize_t got = read(events[i].data.fd, message, sizeof(message));
      SleepUs(300);
      if (got > 0) (void)!write(events[i].data.fd, message, static_cast<size_t>(got));
    }
  }
}

void Forker() {
  for (;;) {
    const pid_t child = fork();
    if (child == 0) {
      SpinUs(500);
      _exit(0);
    }
    waitpid(child, nullptr, 0);
    SleepUs(500);
  }
}

void Yielders() {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  sched_setaffinity(0, sizeof(one), &one);
  std::thread other([] {
    for (;;) sched_yield();
  });
  for (;;) sched_yield();
}

void Nice() {
  setpriority(PRIO_PROCESS, 0, 19);
  for (;;) SpinUs(1000);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "";
  const char* const path = argc > 2 ? argv[2] : "busy";
  if (kind == "sleepers") Sleepers();
  if (kind == "mutexes") Mutexes();
  if (kind == "pipes") Pipes();
  if (kind == "sync") Sync(path);
  if (kind == "server") Server(path);
  if (kind == "client") Client(path);
  if (kind == "forker") Forker();
  if (kind == "yielders") Yielders();
  if (kind == "nice") Nice();
  return 2;
}
