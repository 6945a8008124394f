#include "agent/daemon/receiver.h"

#include <cstdlib>
#include <string>
#include <utility>

#include "agent/log.h"
#include "reporter/export/split_batch.h"
#include "reporter/export/transport.h"

namespace stackray {
namespace {

std::optional<std::string> Given(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

}  // namespace

absl::StatusOr<ReceiverSettings> ReceiverSettingsOf(const AgentSettings& settings) {
  const ReceiverStrings& strings = settings.receiver;
  ReceiverOverrides overrides{.endpoint = Given(strings.endpoint),
                              .protocol = Given(strings.protocol),
                              .headers = Given(strings.headers),
                              .compression = Given(strings.compression),
                              .timeout = Given(strings.timeout),
                              .ca_certificate_file = Given(strings.certificate),
                              .client_certificate_file = Given(strings.client_certificate),
                              .client_key_file = Given(strings.client_key)};
  if (!strings.insecure.empty()) overrides.insecure = strings.insecure == "true";
  return ReceiverSettingsFromEnvironment([](const char* name) { return std::getenv(name); },
                                         overrides);
}

absl::StatusOr<std::unique_ptr<Receiver>> Receiver::Create(const AgentSettings& settings) {
  absl::StatusOr<ReceiverSettings> checked = ReceiverSettingsOf(settings);
  if (!checked.ok()) return checked.status();
  std::unique_ptr<Receiver> receiver(new Receiver());
  ExportHooks hooks;
  hooks.on_lost = [raw = receiver.get()](LossReason reason, SampleCount count) {
    raw->losses_[static_cast<size_t>(reason)] += count.samples;
  };
  hooks.on_note = [](std::string_view text) { LogWarning(text); };
  hooks.split = SplitBatch;
  receiver->queue_ = ExportQueue::Start(
      MakeTransport(*checked),
      {.max_bytes = settings.queue_bytes, .attempt_timeout = checked->timeout}, std::move(hooks));
  return receiver;
}

void Receiver::TakeLosses(const std::function<void(LossReason, uint64_t)>& take) {
  for (size_t i = 0; i < kLossReasons; ++i) {
    const uint64_t samples = losses_[i].exchange(0);
    if (samples != 0) take(static_cast<LossReason>(i), samples);
  }
}

void Receiver::Finish(std::chrono::milliseconds limit) {
  queue_->Flush(limit);
  queue_->Stop();
}

}  // namespace stackray
