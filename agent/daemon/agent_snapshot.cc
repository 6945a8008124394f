#include "agent/daemon/agent_snapshot.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

#include "agent/sampling/markers.h"

namespace stackray {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

// One metric name with its help and rows.
class Family {
 public:
  Family(std::string name, std::string help, prometheus::MetricType type) {
    family_.name = std::move(name);
    family_.help = std::move(help);
    family_.type = type;
  }
  Family& Row(double value, const Labels& labels = {}) {
    prometheus::ClientMetric metric;
    for (const auto& [name, label] : labels) metric.label.push_back({name, label});
    if (family_.type == prometheus::MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
    family_.metric.push_back(std::move(metric));
    return *this;
  }
  prometheus::MetricFamily Take() { return std::move(family_); }

 private:
  prometheus::MetricFamily family_;
};

Family Counter(std::string name, std::string help) {
  return {std::move(name), std::move(help), prometheus::MetricType::Counter};
}
Family Gauge(std::string name, std::string help) {
  return {std::move(name), std::move(help), prometheus::MetricType::Gauge};
}

using Families = std::vector<prometheus::MetricFamily>;

void AddSampling(const AgentSnapshot& s, Families* out) {
  const counters& kernel = s.session.kernel;
  out->push_back(Counter("stackray_samples_produced_total", "Samples that were to be delivered.")
                     .Row(static_cast<double>(s.session.produced))
                     .Take());
  Family stacks = Counter("stackray_stacks_total", "User stacks by how their walk ended.");
  for (uint32_t end = 1; end < END_REASON_COUNT; ++end) {
    if (s.session.loop.ends[end] == 0) continue;
    stacks.Row(static_cast<double>(s.session.loop.ends[end]), {{"end", std::string(EndName(end))}});
  }
  out->push_back(stacks.Take());
  out->push_back(
      Counter("stackray_frames_total", "Frames by where they ran.")
          .Row(static_cast<double>(kernel.value[COUNT_USER_FRAMES]), {{"type", "user"}})
          .Row(static_cast<double>(kernel.value[COUNT_KERNEL_FRAMES]), {{"type", "kernel"}})
          .Take());
  out->push_back(
      Counter("stackray_need_questions_total", "Frames by the need question's answer.")
          .Row(static_cast<double>(s.session.frames.resolved), {{"answer", "needed"}})
          .Row(static_cast<double>(s.session.frames.questions - s.session.frames.resolved),
               {{"answer", "known"}})
          .Take());
  Family programs =
      Counter("stackray_bpf_run_seconds_total",
              "Run time of the BPF programs; 0 unless kernel.bpf_stats_enabled is 1.");
  for (const Sampler::ProgramCost& program : s.programs)
    programs.Row(static_cast<double>(program.run_time_ns) / 1e9, {{"program", program.program}});
  out->push_back(programs.Take());
}

// What became of the samples that one receiver was to have.
class Fate {
 public:
  Fate(const SessionCounts& session, Families* out) : session_(session), out_(out) {}
  ~Fate() {
    for (Family* family : {&delivered_, &lost_, &in_flight_}) out_->push_back(family->Take());
  }

  // The samples that never reached a batch, and those in the ring and in the open batch, are every
  // receiver's.
  void Receiver(const std::string& name, uint64_t delivered, uint64_t in_flight) {
    delivered_.Row(static_cast<double>(delivered), {{"receiver", name}});
    in_flight_.Row(static_cast<double>(session_.in_flight + in_flight), {{"receiver", name}});
    Lost(name, "ring full", session_.kernel.value[COUNT_RING_FULL]);
    Lost(name, "scratch busy", session_.kernel.value[COUNT_SCRATCH_BUSY]);
    Lost(name, "damaged record", session_.loop.damaged_records);
  }
  void Lost(const std::string& receiver, std::string_view reason, uint64_t samples) {
    lost_.Row(static_cast<double>(samples),
              {{"receiver", receiver}, {"reason", std::string(reason)}});
  }

 private:
  const SessionCounts& session_;
  Families* const out_;
  Family delivered_ = Counter("stackray_samples_delivered_total", "Samples a receiver has taken.");
  Family lost_ = Counter("stackray_samples_lost_total", "Samples a receiver will never have.");
  Family in_flight_ = Gauge("stackray_samples_in_flight", "Samples on their way to a receiver.");
};

void AddDelivery(const AgentSnapshot& s, Families* out) {
  Fate fate(s.session, out);
  if (s.history) {
    fate.Receiver("history", s.history->appended_samples - s.history->appended_markers, 0);
    fate.Lost("history", "not stored", s.history->failed_samples - s.history->failed_markers);
  }
  if (!s.delivery) return;
  fate.Receiver("otlp", s.delivery->delivered.without_markers(),
                s.delivery->in_flight.without_markers());
  for (size_t i = 0; i < kLossReasons; ++i)
    fate.Lost("otlp", LossReasonName(static_cast<LossReason>(i)),
              s.delivery->lost[i].without_markers());
}

void AddMemory(const AgentSnapshot& s, Families* out) {
  out->push_back(
      Gauge("stackray_memory_bytes", "Memory by owner.")
          .Row(static_cast<double>(s.resident_bytes), {{"owner", "resident"}})
          .Row(static_cast<double>(s.anonymous_bytes), {{"owner", "anonymous"}})
          .Row(static_cast<double>(s.session.map_bytes), {{"owner", "bpf maps"}})
          .Row(static_cast<double>(s.session.tables.page_bytes), {{"owner", "unwind tables"}})
          .Row(static_cast<double>(s.session.cache_bytes), {{"owner", "symbol caches"}})
          .Row(static_cast<double>(s.delivery ? s.delivery->queued_bytes : 0), {{"owner", "queue"}})
          .Take());
}

}  // namespace

void ReadOwnMemory(AgentSnapshot* snapshot) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string key;
    uint64_t kibibytes = 0;
    if (!(words >> key >> kibibytes)) continue;
    if (key == "VmRSS:") snapshot->resident_bytes = kibibytes * 1024;
    if (key == "RssAnon:") snapshot->anonymous_bytes = kibibytes * 1024;
  }
}

std::string MetricsText(const AgentSnapshot& snapshot) {
  Families families;
  AddSampling(snapshot, &families);
  AddDelivery(snapshot, &families);
  AddMemory(snapshot, &families);
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return text.str();
}

}  // namespace stackray
