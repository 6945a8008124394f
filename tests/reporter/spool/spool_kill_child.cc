// The process that spool_kill_test kills: adds batches to a queue on a spool for as long as it
// lives, and says in a log what it has done.
//   spool_kill_child DIRECTORY LOG FIRST_NUMBER SEED [finish]
// With `finish` nothing is added: what waits is delivered, and the exit code is 0.
//
// A batch has kUnits samples; its bytes say which of them it holds: "NUMBER BEGIN END|filler", so a
// part of a split batch can be told. Log lines, each one write():
//   P NUMBER        it is about to be added      A NUMBER        Add() has returned
//   D NUMBER BEGIN END   the receiver has it     Q R L F D       counts: recovered, lost, in flight
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>

#include "reporter/export/export_queue.h"

namespace stackray {
namespace {

using Kind = SendResult::Kind;

constexpr uint64_t kUnits = 64;
int log_file = -1;

void Log(const std::string& line) {
  const std::string text = line + "\n";
  if (write(log_file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
}

Payload Make(uint64_t number, uint64_t begin, uint64_t end, size_t filler) {
  return Payload::Of(Signal::kProfiles,
                     fmt::format("{} {} {}|", number, begin, end) + std::string(filler, 'x'),
                     end - begin);
}

struct Range {
  uint64_t number = 0, begin = 0, end = 0;
};

Range RangeOf(std::string_view bytes) {
  Range range;
  const std::string start(bytes.substr(0, 100));
  if (std::sscanf(start.c_str(), "%lu %lu %lu|", &range.number, &range.begin, &range.end) != 3)
    std::abort();
  return range;
}

std::vector<Payload> Halve(const Payload& batch) {
  const Range range = RangeOf(batch.bytes);
  const uint64_t middle = (range.begin + range.end) / 2;
  if (middle == range.begin) return {};
  const size_t filler = batch.bytes.size() / 3;
  return {Make(range.number, range.begin, middle, filler),
          Make(range.number, middle, range.end, filler)};
}

constexpr size_t kLimitBytes = 500'000;

// Takes most batches, fails now and then, and finds large ones too large.
class MoodyReceiver : public Transport {
 public:
  explicit MoodyReceiver(uint64_t seed) : random_(seed) {}
  SendResult Send(const Payload& batch, std::chrono::milliseconds) override {
    if (random_() % 5 == 0) return {.kind = Kind::kRetry, .message = "busy"};
    if (batch.bytes.size() > kLimitBytes) return {.kind = Kind::kTooLarge};
    const Range range = RangeOf(batch.bytes);
    Log(fmt::format("D {} {} {}", range.number, range.begin, range.end));
    return {.kind = Kind::kDelivered};
  }
  void Cancel() override {}

 private:
  std::mt19937_64 random_;
};

uint64_t Number(const char* text) {
  uint64_t number = 0;
  std::from_chars(text, text + std::strlen(text), number);
  return number;
}

int Main(int argc, char** argv) {
  if (argc < 5) return 2;
  log_file = open(argv[2], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const uint64_t seed = Number(argv[4]);
  absl::StatusOr<OpenedSpool> opened =
      Spool::Open({.directory = argv[1], .receiver = "grpc://receiver:4317"});
  if (!opened.ok() || opened->spool == nullptr) return 3;
  SignalTraits traits = TraitsOf(Signal::kProfiles);
  traits.halve = Halve;
  const auto queue = ExportQueue::Start(
      std::make_unique<MoodyReceiver>(seed),
      {.retry = {.first = std::chrono::milliseconds(1), .longest = std::chrono::milliseconds(3)},
       .traits = &traits},
      {}, std::move(opened->spool));
  const DeliveryCounts counts = queue->Counts();
  Log(fmt::format("Q {} {}", counts.recovered.items,
                  counts.lost[static_cast<size_t>(LossReason::kSpoolDamaged)].items));
  if (argc > 5) return queue->Flush(std::chrono::seconds(60)) ? 0 : 4;
  std::mt19937_64 random(seed);
  for (uint64_t number = Number(argv[3]);; ++number) {
    const size_t filler = random() % 8 == 0 ? random() % 2'000'000 : random() % 20'000;
    Log(fmt::format("P {}", number));
    queue->Add(Make(number, 0, kUnits, filler));
    Log(fmt::format("A {}", number));
    if (random() % 4 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(random() % 3));
  }
}

}  // namespace
}  // namespace stackray

int main(int argc, char** argv) { return stackray::Main(argc, argv); }
