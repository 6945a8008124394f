// Reads a file with io_uring by the kernel's worker threads, for as long as it lives: `io_workers
// FILE`. Exit code 77: there is no io_uring.
#include <fcntl.h>
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

static constexpr unsigned kRequests = 8;
static constexpr unsigned kBytes = 1 << 20;
static char g_buffers[kRequests][kBytes];

static void* MapRing(int ring, size_t bytes, off_t offset) {
  return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, offset);
}

int main(int argc, char** argv) {
  io_uring_params parameters = {};
  const int ring = static_cast<int>(syscall(__NR_io_uring_setup, kRequests, &parameters));
  const int file = argc == 2 ? open(argv[1], O_RDONLY) : -1;
  if (ring < 0) return 77;
  if (file < 0) return 2;
  auto* submissions = static_cast<char*>(
      MapRing(ring, parameters.sq_off.array + parameters.sq_entries * sizeof(unsigned),
              IORING_OFF_SQ_RING));
  auto* completions = static_cast<char*>(
      MapRing(ring, parameters.cq_off.cqes + parameters.cq_entries * sizeof(io_uring_cqe),
              IORING_OFF_CQ_RING));
  auto* entries = static_cast<io_uring_sqe*>(
      MapRing(ring, parameters.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES));
  auto* tail = reinterpret_cast<unsigned*>(submissions + parameters.sq_off.tail);
  auto* array = reinterpret_cast<unsigned*>(submissions + parameters.sq_off.array);
  const unsigned mask = *reinterpret_cast<unsigned*>(submissions + parameters.sq_off.ring_mask);
  auto* head = reinterpret_cast<unsigned*>(completions + parameters.cq_off.head);
  auto* done = reinterpret_cast<unsigned*>(completions + parameters.cq_off.tail);
  for (;;) {
    for (unsigned i = 0; i < kRequests; ++i) {
      const unsigned slot = *tail & mask;
      entries[slot] = {};
      entries[slot].opcode = IORING_OP_READ;
      entries[slot].fd = file;
      entries[slot].addr = reinterpret_cast<uint64_t>(g_buffers[i]);
      entries[slot].len = kBytes;
      entries[slot].flags = IOSQE_ASYNC;  // By a worker at once.
      array[slot] = slot;
      __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    }
    syscall(__NR_io_uring_enter, ring, kRequests, kRequests, IORING_ENTER_GETEVENTS, nullptr, 0);
    __atomic_store_n(head, __atomic_load_n(done, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
  }
}
