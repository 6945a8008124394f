// spool_cost DIRECTORY: prints what a spool costs on a disk, the evidence of
// docs/decisions/078-spool-written-ahead.md.
// For a receiver that is there and one that is not, and for two sizes of batches: the time of
// Add(), CPU a batch, bytes that were marked for the disk and taken back before they got there.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

#include "reporter/export/export_queue.h"
#include "tests/reporter/export/test_batches.h"

namespace stackray {
namespace {

using Clock = std::chrono::steady_clock;
using Micros = std::chrono::duration<double, std::micro>;

constexpr int kBatches = 200;

class SlowReceiver : public Transport {
 public:
  explicit SlowReceiver(bool up) : up_(up) {}
  SendResult Send(const Payload&, std::chrono::milliseconds) override {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return {.kind = up_ ? SendResult::Kind::kDelivered : SendResult::Kind::kRetry};
  }
  void Cancel() override {}

 private:
  const bool up_;
};

// Of /proc/self/io: "write_bytes:", "cancelled_write_bytes:".
uint64_t IoBytes(const std::string& wanted) {
  std::ifstream file("/proc/self/io");
  std::string key;
  for (uint64_t value = 0; file >> key >> value;)
    if (key == wanted) return value;
  return 0;
}

double CpuMicros() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e6 +
         static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

std::unique_ptr<Spool> OpenIn(const std::string& directory) {
  absl::StatusOr<OpenedSpool> opened = Spool::Open({.directory = directory, .receiver = "cost"});
  return opened.ok() ? std::move(opened->spool) : nullptr;
}

void AddBatches(const std::string& directory, bool up, size_t bytes) {
  const auto queue = ExportQueue::Start(
      std::make_unique<SlowReceiver>(up),
      {.retry = {.first = std::chrono::hours(1), .longest = std::chrono::hours(1)}}, {},
      OpenIn(directory));
  const std::string noise = NoiseBytes(bytes, 1);
  const uint64_t written = IoBytes("write_bytes:"), cancelled = IoBytes("cancelled_write_bytes:");
  std::vector<double> times;
  double cpu = -CpuMicros();
  for (int i = 0; i < kBatches; ++i) {
    const Payload batch = MakeBatch(noise, 10);
    const Clock::time_point begin = Clock::now();
    queue->Add(batch);
    times.push_back(Micros(Clock::now() - begin).count());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  cpu += CpuMicros();
  queue->Stop();
  std::ranges::sort(times);
  const uint64_t marked = IoBytes("write_bytes:") - written;
  const uint64_t taken_back = IoBytes("cancelled_write_bytes:") - cancelled;
  fmt::print(
      "{:9} bytes, receiver {:4}: Add() median {:6.0f} us, 99 % {:6.0f} us; CPU {:6.0f} us; of "
      "{} KiB marked for the disk {} KiB taken back; {} batches left\n",
      bytes, up ? "up" : "down", times[kBatches / 2], times[kBatches * 99 / 100], cpu / kBatches,
      marked >> 10, taken_back >> 10, queue->Counts().spooled_batches);
}

void ReadAndSync(const std::string& directory) {
  const std::unique_ptr<Spool> spool = OpenIn(directory);
  const size_t found = spool->found().size();
  double read = 0, sync = 0;
  for (const SpoolEntry& entry : spool->found()) {
    const Clock::time_point begin = Clock::now();
    const absl::StatusOr<Payload> batch = spool->Read(entry);
    read += Micros(Clock::now() - begin).count();
    if (!batch.ok() || !spool->Remove(entry).ok()) fmt::print("not readable\n");
  }
  if (found > 0)
    fmt::print("          read back: {:.0f} us each\n", read / static_cast<double>(found));
  for (int i = 0; i < 20; ++i) {
    const absl::StatusOr<SpoolEntry> entry = spool->Write(MakeBatch(NoiseBytes(60'000, 2), 1));
    const Clock::time_point begin = Clock::now();
    if (!entry.ok() || !spool->Sync({*entry}).ok()) fmt::print("cannot sync\n");
    sync += Micros(Clock::now() - begin).count();
    if (entry.ok() && !spool->Remove(*entry).ok()) fmt::print("cannot remove\n");
  }
  fmt::print("          sync of a file of 60,000 bytes: {:.0f} us\n", sync / 20);
}

int Main(int argc, char** argv) {
  if (argc != 2 || OpenIn(argv[1]) == nullptr) return 2;
  for (const bool up : {true, false})
    for (const size_t bytes : {60'000, 3'600'000}) {
      AddBatches(argv[1], up, bytes);
      ReadAndSync(argv[1]);
    }
  return 0;
}

}  // namespace
}  // namespace stackray

int main(int argc, char** argv) { return stackray::Main(argc, argv); }
