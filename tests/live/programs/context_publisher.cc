// Burns CPU, and publishes a process context when it is told to: context_publisher KIND FORK
//   KIND  memfd or anon: what the header lies in; FORK  keep, or dont (MADV_DONTFORK)
//   SIGUSR1  publishes service "context-1"; each further one changes it to "context-2" and so on,
//            and the attributes with it. The command's name is "published-N" when that is done,
//            "cannot" where the kernel names no anonymous mappings.
//   SIGUSR2  forks a child named "child" that burns CPU and publishes nothing
// Written after the publication protocol of OTEP 4719.
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

struct Header {
  char signature[8];
  uint32_t version, payload_bytes;
  uint64_t published_at_ns, payload;
};

constexpr size_t kBytes = 8192;
volatile sig_atomic_t g_publish = 0, g_fork = 0;
volatile uint64_t g_sink = 1;
char g_payloads[2][256];  // In turn: the one that is published stays as it is.

// Field `number` of a message, behind *length bytes of `to`.
void Add(char* to, size_t* length, char number, const char* bytes, size_t size) {
  to[(*length)++] = static_cast<char>(number << 3 | 2);
  to[(*length)++] = static_cast<char>(size);
  memcpy(to + *length, bytes, size);
  *length += size;
}

void AddAttribute(char* resource, size_t* length, const char* key, const char* text) {
  char value[64], pair[96];
  size_t value_length = 0, pair_length = 0;
  Add(value, &value_length, 1, text, strlen(text));
  Add(pair, &pair_length, 1, key, strlen(key));
  Add(pair, &pair_length, 2, value, value_length);
  Add(resource, length, 1, pair, pair_length);
}

size_t MakePayload(int number, char* payload) {
  char resource[120], text[32];
  size_t length = 0, payload_length = 0;
  snprintf(text, sizeof(text), "context-%d", number);
  AddAttribute(resource, &length, "service.name", text);
  snprintf(text, sizeof(text), "id-%d", number);
  AddAttribute(resource, &length, "service.instance.id", text);
  AddAttribute(resource, &length, "only.context", "yes");
  Add(payload, &payload_length, 1, resource, length);
  return payload_length;
}

Header* MakeMapping(bool anonymous, bool dont_fork) {
  const int fd = anonymous ? -1 : memfd_create("OTEL_CTX", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (!anonymous && (fd < 0 || ftruncate(fd, kBytes) != 0)) return nullptr;
  void* const at = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                        anonymous ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_PRIVATE, fd, 0);
  if (fd >= 0) close(fd);
  if (at == MAP_FAILED) return nullptr;
  if (dont_fork) madvise(at, kBytes, MADV_DONTFORK);
  const int named = prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, at, kBytes, "OTEL_CTX");
  return anonymous && named != 0 ? nullptr : static_cast<Header*>(at);
}

uint64_t BootTimeNs() {
  timespec time = {};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

void Publish(Header* header, int number) {
  char* const payload = g_payloads[number % 2];
  __atomic_store_n(&header->published_at_ns, 0, __ATOMIC_SEQ_CST);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  memcpy(header->signature, "OTEL_CTX", 8);
  header->version = 2;
  header->payload_bytes = static_cast<uint32_t>(MakePayload(number, payload));
  header->payload = reinterpret_cast<uint64_t>(payload);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  __atomic_store_n(&header->published_at_ns, BootTimeNs(), __ATOMIC_SEQ_CST);
}

void OnSignal(int signal) { (signal == SIGUSR1 ? g_publish : g_fork) = 1; }

}  // namespace

extern "C" __attribute__((noinline)) void ContextBurn() {
  for (int i = 0; i < 100000; ++i) g_sink = g_sink * 6364136223846793005ULL + (g_sink >> 33);
}

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const bool anonymous = strcmp(argv[1], "anon") == 0, dont_fork = strcmp(argv[2], "dont") == 0;
  signal(SIGUSR1, OnSignal);
  signal(SIGUSR2, OnSignal);
  prctl(PR_SET_NAME, "ready");
  Header* header = nullptr;
  for (int published = 0;; ContextBurn()) {
    if (g_publish != 0) {
      g_publish = 0;
      if (header == nullptr) header = MakeMapping(anonymous, dont_fork);
      if (header != nullptr) Publish(header, ++published);
      char name[16];
      snprintf(name, sizeof(name), "published-%d", published);
      prctl(PR_SET_NAME, header == nullptr ? "cannot" : name);
    }
    if (g_fork != 0) {
      g_fork = 0;
      if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        prctl(PR_SET_NAME, "child");
      }
    }
  }
}
