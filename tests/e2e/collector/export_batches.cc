// The sending and the judging side of the test against a real Collector.
//
//   export_batches send PROTOCOL ENDPOINT COMPRESSION SEED BATCHES EVENTS SENT_FILE
//     makes batches, sends them as the agent does, and appends to SENT_FILE what it made.
//   export_batches forward PROTOCOL ENDPOINT COMPRESSION FILE
//     sends the batches of FILE as the agent does.
//   export_batches compare SENT_FILE COLLECTED_FILE
//     exit 0 exactly when both say the same, sample by sample.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel/unique_fd.h"
#include "reporter/batch_file.h"
#include "reporter/export/export_queue.h"
#include "reporter/export/receiver_settings.h"
#include "tests/reporter/batch_events.h"
#include "tests/reporter/export/sample_lines.h"

namespace stackray {
namespace {

using Lines = std::vector<std::string>;

constexpr int64_t kStart = 1'700'000'000'000'000'000;
constexpr int64_t kSecond = 1'000'000'000;

// Nothing is taken from the machine this runs on.
absl::StatusOr<ReceiverSettings> MakeSettings(const char* protocol, const char* endpoint,
                                              const char* compression) {
  return ReceiverSettingsFromEnvironment(
      [](const char*) -> const char* { return nullptr; },
      {.endpoint = endpoint, .protocol = protocol, .compression = compression});
}

int Number(const char* text) { return std::atoi(text); }

absl::Status WriteSent(const std::vector<SealedBatchPtr>& batches, const char* path) {
  const UniqueFd fd(open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, path);
  BatchFileWriter writer(fd.get());
  for (const SealedBatchPtr& batch : batches)
    if (absl::Status status = writer.Append(batch->bytes); !status.ok()) return status;
  return absl::OkStatus();
}

// 0: all of them arrived.
int Export(const ReceiverSettings& settings, const std::vector<SealedBatchPtr>& batches) {
  uint64_t samples = 0;
  for (const SealedBatchPtr& batch : batches) samples += batch->samples;
  ExportHooks hooks;
  hooks.on_note = [](std::string_view text) { fmt::print(stderr, "note: {}\n", text); };
  const auto queue = ExportQueue::Start(MakeTransport(settings), {.max_bytes = 512 << 20}, hooks);
  for (const SealedBatchPtr& batch : batches) queue->Add(Payload::Of(batch));
  queue->Flush(std::chrono::seconds(60));
  queue->Stop();
  const DeliveryCounts counts = queue->Counts();
  fmt::print("{} batches, {} samples: {} delivered, {} lost, {} splits, learned limit {}\n",
             batches.size(), samples, counts.delivered.items, counts.LostInAll().items,
             counts.splits, counts.learned_size_limit);
  return counts.delivered.items == samples && counts.produced.items == samples ? 0 : 1;
}

int Send(char** arguments) {
  const absl::StatusOr<ReceiverSettings> settings =
      MakeSettings(arguments[0], arguments[1], arguments[2]);
  if (!settings.ok()) {
    fmt::print(stderr, "{}\n", settings.status().ToString());
    return 2;
  }
  std::vector<SealedBatchPtr> batches;
  for (int i = 0; i < Number(arguments[4]); ++i) {
    const auto seed = static_cast<uint32_t>(Number(arguments[3]) + i);
    batches.push_back(BatchEvents(seed, seed % 2 == 0)
                          .Replay(0, Number(arguments[5]))
                          .Seal(kStart, kStart + kSecond));
  }
  if (const absl::Status status = WriteSent(batches, arguments[6]); !status.ok()) {
    fmt::print(stderr, "{}\n", status.ToString());
    return 1;
  }
  return Export(*settings, batches);
}

int Forward(char** arguments) {
  const absl::StatusOr<ReceiverSettings> settings =
      MakeSettings(arguments[0], arguments[1], arguments[2]);
  const UniqueFd fd(open(arguments[3], O_RDONLY | O_CLOEXEC));
  if (!settings.ok() || !fd.valid()) {
    fmt::print(stderr, "{}\n", settings.ok() ? arguments[3] : settings.status().ToString());
    return 2;
  }
  BatchFileReader reader = BatchFileReader::FromFd(fd.get());
  std::vector<SealedBatchPtr> batches;
  while (true) {
    absl::StatusOr<std::optional<std::string>> bytes = reader.Next();
    if (!bytes.ok() || !bytes->has_value()) {
      if (bytes.ok()) break;
      fmt::print(stderr, "{}\n", bytes.status().ToString());
      return 1;
    }
    auto batch = std::make_shared<SealedBatch>();
    batch->bytes = **std::move(bytes);
    batch->samples = 1;  // Of the account alone.
    batches.push_back(std::move(batch));
  }
  return batches.empty() ? 1 : Export(*settings, batches);
}

absl::StatusOr<Lines> ReadLines(const char* path, int64_t* batches) {
  const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, path);
  BatchFileReader reader = BatchFileReader::FromFd(fd.get());
  Lines all;
  while (true) {
    const absl::StatusOr<std::optional<std::string>> batch = reader.Next();
    if (!batch.ok()) return batch.status();
    if (!batch->has_value()) break;
    const absl::StatusOr<Lines> lines = SampleLines(**batch);
    if (!lines.ok()) return lines.status();
    all.insert(all.end(), lines->begin(), lines->end());
  }
  std::sort(all.begin(), all.end());
  *batches = reader.batches();
  return all;
}

int Compare(char** arguments) {
  int64_t sent_batches = 0, collected_batches = 0;
  const absl::StatusOr<Lines> sent = ReadLines(arguments[0], &sent_batches);
  const absl::StatusOr<Lines> collected = ReadLines(arguments[1], &collected_batches);
  for (const absl::Status& status : {sent.status(), collected.status()})
    if (!status.ok()) {
      fmt::print(stderr, "{}\n", status.ToString());
      return 1;
    }
  fmt::print("sent {} lines in {} batches, collected {} in {}\n", sent->size(), sent_batches,
             collected->size(), collected_batches);
  if (*sent == *collected) return sent->empty() ? 1 : 0;
  const auto [mine, its] =
      std::mismatch(sent->begin(), sent->end(), collected->begin(), collected->end());
  fmt::print(stderr, "first difference:\n sent      {}\n collected {}\n",
             mine == sent->end() ? "nothing more" : mine->substr(0, 4000),
             its == collected->end() ? "nothing more" : its->substr(0, 4000));
  return 1;
}

}  // namespace
}  // namespace stackray

int main(int count, char** arguments) {
  const std::string_view verb = count > 1 ? arguments[1] : "";
  if (verb == "send" && count == 9) return stackray::Send(arguments + 2);
  if (verb == "forward" && count == 6) return stackray::Forward(arguments + 2);
  if (verb == "compare" && count == 4) return stackray::Compare(arguments + 2);
  fmt::print(
      stderr,
      "usage: export_batches send PROTOCOL ENDPOINT COMPRESSION SEED BATCHES EVENTS SENT_FILE\n"
      "       export_batches forward PROTOCOL ENDPOINT COMPRESSION FILE\n"
      "       export_batches compare SENT_FILE COLLECTED_FILE\n");
  return 2;
}
