#include "tests/live/typed_run.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernel/wall_clock.h"
#include "reporter/proto/profiles_service.pb.h"

namespace stackray::test {
namespace {

using opentelemetry::proto::collector::profiles::v1development::ExportProfilesServiceRequest;
using opentelemetry::proto::profiles::v1development::Location;
using opentelemetry::proto::profiles::v1development::ProfilesDictionary;
using opentelemetry::proto::profiles::v1development::Sample;

constexpr int kTurnMs = 20;

std::string Attribute(const ProfilesDictionary& all, const auto& indices, std::string_view key) {
  for (const int32_t index : indices) {
    const auto& attribute = all.attribute_table(index);
    if (all.string_table(attribute.key_strindex()) == key) return attribute.value().string_value();
  }
  return "";
}

uint32_t ThreadOf(const ProfilesDictionary& all, const Sample& sample) {
  for (const int32_t index : sample.attribute_indices()) {
    const auto& attribute = all.attribute_table(index);
    if (all.string_table(attribute.key_strindex()) == "thread.id")
      return static_cast<uint32_t>(attribute.value().int_value());
  }
  return 0;
}

void AddFrame(const ProfilesDictionary& all, const Location& location, TypedSample* sample) {
  const std::string type = Attribute(all, location.attribute_indices(), "profile.frame.type");
  if (type == "abort-marker") return;
  std::string name;
  if (location.lines_size() != 0)
    name = all.string_table(
        all.function_table(location.lines(location.lines_size() - 1).function_index())
            .name_strindex());
  (type == "kernel" ? sample->kernel : sample->user).push_back(std::move(name));
}

TypedSample MakeSample(const ProfilesDictionary& all, const Sample& from) {
  TypedSample sample{.thread = Attribute(all, from.attribute_indices(), "thread.name"),
                     .wait = Attribute(all, from.attribute_indices(), "stackray.wait"),
                     .tid = ThreadOf(all, from)};
  for (const int32_t index : all.stack_table(from.stack_index()).location_indices())
    AddFrame(all, all.location_table(index), &sample);
  return sample;
}

}  // namespace

bool TypedSample::Has(std::string_view function) const {
  return std::ranges::find(user, function) != user.end() ||
         std::ranges::find(kernel, function) != kernel.end();
}

absl::StatusOr<std::unique_ptr<TypedRun>> TypedRun::Start(SessionSettings settings,
                                                          const std::vector<uint32_t>& pids) {
  std::unique_ptr<TypedRun> run(new TypedRun());
  settings.sampler.target_pids = kMostTargetPids;
  settings.loop.batch.frequency_hz = settings.sampler.frequency_hz;
  absl::StatusOr<std::unique_ptr<SamplingSession>> session =
      SamplingSession::Create(std::move(settings), [at = run.get()](const SealedBatchPtr& sealed) {
        at->events_ += sealed->samples - sealed->lost_samples;
        at->Keep(sealed->bytes);
      });
  if (!session.ok()) return session.status();
  run->session_ = *std::move(session);
  if (absl::Status status = run->session_->sampler().targets().AddPids(0, pids, true); !status.ok())
    return status;
  if (absl::Status status = run->session_->Start(); !status.ok()) return status;
  return run;
}

TypedRun::~TypedRun() { Stop(); }

void TypedRun::Stop() {
  if (session_ != nullptr && !std::exchange(stopped_, true)) session_->Stop();
}

bool TypedRun::Until(int timeout_ms, const std::function<bool()>& done, double seals_a_second) {
  const uint64_t end = BootTimeNs() + static_cast<uint64_t>(timeout_ms) * 1'000'000;
  const auto interval_ns = static_cast<uint64_t>(1e9 / seals_a_second);
  for (uint64_t next_seal = BootTimeNs() + interval_ns; !done();) {
    const uint64_t now = BootTimeNs();
    if (now > end) return false;
    session_->Turn(kTurnMs);
    if (now < next_seal) continue;
    next_seal = now + interval_ns;
    session_->Seal();
  }
  return true;
}

void TypedRun::Keep(const std::string& bytes) {
  ExportProfilesServiceRequest request;
  if (!request.ParseFromString(bytes)) return;
  const ProfilesDictionary& all = request.dictionary();
  for (const auto& resource : request.resource_profiles()) {
    for (const auto& profile : resource.scope_profiles(0).profiles()) {
      for (const Sample& from : profile.samples()) {
        TypedSample& sample = samples_.emplace_back(MakeSample(all, from));
        sample.type = all.string_table(profile.sample_type().type_strindex());
        sample.period = profile.period();
        sample.events = static_cast<size_t>(from.timestamps_unix_nano_size());
        sample.value = std::accumulate(from.values().begin(), from.values().end(), int64_t{0});
        for (const int64_t value : from.values())
          sample.squares += static_cast<double>(value) * static_cast<double>(value);
        sample.batch = batches_;
      }
    }
  }
  ++batches_;
}

int64_t TypedRun::Sum(const std::function<bool(const TypedSample&)>& wanted) const {
  int64_t sum = 0;
  for (const TypedSample& sample : samples_)
    if (wanted(sample)) sum += sample.value;
  return sum;
}

}  // namespace stackray::test
