#include "tests/live/sampled_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <utility>

#include "agent/sampling/markers.h"
#include "kernel/wall_clock.h"

namespace stackray::test {
namespace {

constexpr uint64_t kSealIntervalNs = 1'000'000'000;

SeenStack MakeStack(const DecodedBatch& batch, const DecodedSample& sample) {
  const DecodedResource& resource = batch.resources[static_cast<size_t>(sample.resource)];
  SeenStack stack{.command = resource.Find("process.command"),
                  .pid = std::atoll(resource.Find("process.pid").c_str()),
                  .count = std::max<int64_t>(sample.count, 1)};
  for (int32_t index : sample.frames) {
    const DecodedFrame& frame = batch.frames[static_cast<size_t>(index)];
    if (frame.type == "abort-marker") {
      stack.marker = frame.lines.empty() ? "?" : frame.lines.front().function;
    } else {
      (frame.type == "kernel" ? stack.kernel : stack.user).push_back(frame);
    }
  }
  return stack;
}

}  // namespace

std::vector<std::string> SeenStack::UserNames() const {
  std::vector<std::string> names;
  for (const DecodedFrame& frame : user)
    names.push_back(frame.lines.empty() ? "" : frame.lines.back().function);
  return names;
}

bool SeenStack::Has(const std::string& function) const {
  const std::vector<std::string> names = UserNames();
  return std::find(names.begin(), names.end(), function) != names.end();
}

bool SeenStack::Calls(const std::string& caller, const std::string& callee) const {
  const std::vector<std::string> names = UserNames(), pair = {callee, caller};
  return std::search(names.begin(), names.end(), pair.begin(), pair.end()) != names.end();
}

absl::StatusOr<std::unique_ptr<SampledRun>> SampledRun::Start(double frequency_hz,
                                                              const std::vector<uint32_t>& pids,
                                                              bool async_parents) {
  std::unique_ptr<SampledRun> run(new SampledRun());
  SessionSettings settings;
  settings.sampler.frequency_hz = frequency_hz;
  settings.sampler.target_pids = kMostTargetPids;
  settings.sampler.sample_ring_bytes = 16 << 20;
  settings.loop.batch.frequency_hz = frequency_hz;
  settings.async_parents = async_parents;
  SampledRun* at = run.get();
  absl::StatusOr<std::unique_ptr<SamplingSession>> session =
      SamplingSession::Create(settings, [at](const SealedBatchPtr& sealed) {
        const absl::StatusOr<DecodedBatch> batch = DecodeBatch(sealed->bytes);
        if (batch.ok()) at->Keep(*batch);
      });
  if (!session.ok()) return session.status();
  run->session_ = *std::move(session);
  if (absl::Status status = run->session_->sampler().targets().AddPids(0, pids, true); !status.ok())
    return status;
  if (absl::Status status = run->session_->Start(); !status.ok()) return status;
  return run;
}

SampledRun::~SampledRun() { Stop(); }

void SampledRun::Stop() {
  if (session_ == nullptr || std::exchange(stopped_, true)) return;
  session_->Stop();
}

void SampledRun::Run(int timeout_ms, uint64_t samples) {
  const uint64_t end = BootTimeNs() + static_cast<uint64_t>(timeout_ms) * 1'000'000;
  uint64_t next_seal = BootTimeNs() + kSealIntervalNs;
  while (BootTimeNs() < end && session_->loop().counts().samples < samples) {
    session_->Turn(50);
    if (BootTimeNs() < next_seal) continue;
    next_seal = BootTimeNs() + kSealIntervalNs;
    session_->Seal();
  }
  session_->Seal();
}

void SampledRun::Keep(const DecodedBatch& batch) {
  for (const DecodedSample& sample : batch.samples) {
    stacks_.push_back(MakeStack(batch, sample));
    stacks_.back().batch = batches_;
  }
  ++batches_;
}

uint64_t SampledRun::with_user_stack() {
  const SampleLoopCounts counts = session_->loop().counts();
  uint64_t sum = 0;
  for (uint32_t end = 0; end < END_REASON_COUNT; ++end)
    if (HasUserStack(end)) sum += counts.ends[end];
  return sum;
}

uint64_t SampledRun::complete() {
  const SampleLoopCounts counts = session_->loop().counts();
  uint64_t sum = 0;
  for (uint32_t end = 0; end < END_REASON_COUNT; ++end)
    if (IsCompleteEnd(end)) sum += counts.ends[end];
  return sum;
}

double SampledRun::complete_percent() {
  const uint64_t all = with_user_stack();
  return all == 0 ? 0 : 100.0 * static_cast<double>(complete()) / static_cast<double>(all);
}

std::string SampledRun::Ends() {
  const SampleLoopCounts counts = session_->loop().counts();
  std::string text;
  for (uint32_t end = 0; end < END_REASON_COUNT; ++end) {
    if (counts.ends[end] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", EndName(end), counts.ends[end]);
  }
  return text;
}

std::string SampledRun::Roots() const {
  std::map<std::string, int64_t> roots;
  for (const SeenStack& stack : stacks_) {
    if (stack.user.empty() || !stack.marker.empty()) continue;
    const DecodedFrame& root = stack.user.back();
    const std::string name = root.lines.empty()
                                 ? fmt::format("{}+0x{:x}", root.mapping_path, root.address)
                                 : root.lines.back().function;
    roots[name] += stack.count;
  }
  std::string text;
  for (const auto& [name, count] : roots)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, count);
  return text;
}

std::vector<std::string> SampledRun::CutStacks() const {
  std::map<std::string, int64_t> kinds;
  for (const SeenStack& stack : stacks_) {
    if (stack.marker.empty()) continue;
    std::string where = "no user frame";
    if (!stack.user.empty()) {
      const DecodedFrame& root = stack.user.back();
      where = fmt::format("{}+0x{:x} {}", root.mapping_path, root.address,
                          root.lines.empty() ? "" : root.lines.back().function);
    }
    kinds[fmt::format("{}: {} above {}, {} frames", stack.command, stack.marker, where,
                      stack.user.size())] += stack.count;
  }
  std::vector<std::string> texts;
  for (const auto& [kind, count] : kinds) texts.push_back(fmt::format("{} times {}", count, kind));
  return texts;
}

double SampledRun::mean_depth() const {
  double frames = 0, samples = 0;
  for (const SeenStack& stack : stacks_) {
    if (stack.user.empty()) continue;
    frames += static_cast<double>(stack.user.size()) * static_cast<double>(stack.count);
    samples += static_cast<double>(stack.count);
  }
  return samples == 0 ? 0 : frames / samples;
}

LoadBounds LoadBoundsFor(uint64_t usual_samples) {
  const char* asked = std::getenv("STACKRAY_LOAD_SAMPLES");
  const uint64_t samples = asked == nullptr ? 0 : std::strtoull(asked, nullptr, 10);
  if (samples <= usual_samples) return {.samples = usual_samples};
  return {.samples = samples, .least_whole = 0.998, .most_stale = 0.001};
}

void Measured(const std::string& text) {
  fmt::print("measured: {}\n", text);
  std::fflush(stdout);
}

}  // namespace stackray::test
