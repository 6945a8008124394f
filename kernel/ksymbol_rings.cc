#include "kernel/ksymbol_rings.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

#include "kernel/cpu_list.h"
#include "kernel/ksymbol_records.h"

namespace stackray {
namespace {

const size_t kPageBytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
const size_t kDataBytes = std::max<size_t>(16 << 10, kPageBytes);
const size_t kRingBytes = kPageBytes + kDataBytes;

perf_event_attr KsymbolEvent() {
  perf_event_attr attributes = {};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_DUMMY;
  attributes.sample_type = PERF_SAMPLE_TIME;
  attributes.sample_id_all = 1;
  attributes.ksymbol = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_BOOTTIME;
  attributes.watermark = 1;  // Nobody polls: never wake.
  attributes.wakeup_watermark = ~uint32_t{0};
  return attributes;
}

}  // namespace

KsymbolRings::Ring::~Ring() {
  if (memory_ != nullptr) munmap(memory_, kRingBytes);
}

bool KsymbolRings::Ring::Drain(const std::function<void(CodeEvent)>& take) {
  auto* page = static_cast<perf_event_mmap_page*>(memory_);
  const uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
  const uint64_t tail = page->data_tail;  // Only we write it.
  if (head == tail) return true;
  const auto* data = static_cast<const uint8_t*>(memory_) + kPageBytes;
  const PerfRingEnd end = ReadPerfRing({data, kDataBytes}, tail, head, take);
  __atomic_store_n(&page->data_tail, end.tail, __ATOMIC_RELEASE);
  return end.intact;
}

absl::StatusOr<KsymbolRings> KsymbolRings::Open() {
  KsymbolRings rings;
  absl::StatusOr<std::vector<int>> online = OnlineCpus();
  if (!online.ok()) return online.status();
  if (absl::Status status = rings.FollowCpus(*online); !status.ok()) return status;
  rings.gap_ = false;  // Nobody has relied on them yet.
  return rings;
}

absl::Status KsymbolRings::OpenCpu(int cpu) {
  perf_event_attr attributes = KsymbolEvent();
  UniqueFd event(static_cast<int>(
      syscall(SYS_perf_event_open, &attributes, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC)));
  if (!event.valid()) {
    if (errno == ENODEV || errno == ENXIO) return absl::OkStatus();  // It went offline meanwhile.
    return absl::FailedPreconditionError(
        fmt::format("no reports about kernel code: perf_event_open: {}", strerror(errno)));
  }
  void* memory = mmap(nullptr, kRingBytes, PROT_READ | PROT_WRITE, MAP_SHARED, event.get(), 0);
  if (memory == MAP_FAILED)
    return absl::FailedPreconditionError(
        fmt::format("no reports about kernel code: mmap: {}", strerror(errno)));
  rings_.try_emplace(cpu, std::move(event), memory);
  gap_ = true;
  return absl::OkStatus();
}

absl::Status KsymbolRings::FollowCpus(std::span<const int> online) {
  std::erase_if(rings_, [&](const auto& entry) {
    const bool went = std::ranges::find(online, entry.first) == online.end();
    gap_ = gap_ || went;  // Its last records are not read.
    return went;
  });
  for (const int cpu : online) {
    if (rings_.contains(cpu)) continue;
    if (absl::Status status = OpenCpu(cpu); !status.ok()) return status;
  }
  return absl::OkStatus();
}

bool KsymbolRings::Drain(const std::function<void(CodeEvent)>& take) {
  bool intact = !std::exchange(gap_, false);
  for (auto& [cpu, ring] : rings_) intact = ring.Drain(take) && intact;
  return intact;
}

}  // namespace stackray
