#include "agent/daemon/loss_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace stackray {
namespace {

// A few nested interrupts are normal.
constexpr uint64_t kFewScratchBusy = 100;

// Reasons that all sinks share, because the samples never reached a batch.
constexpr std::array<std::string_view, 3> kOfSampling = {"ring full", "scratch busy",
                                                         "damaged record"};

bool IsOfSampling(std::string_view reason) {
  return std::ranges::find(kOfSampling, reason) != kOfSampling.end();
}

// What to do about it, where that is a setting.
std::string_view Advice(std::string_view reason) {
  if (reason == "ring full")
    return "; the agent gets too little CPU, stood still, or --frequency is too high";
  if (reason == "queue full")
    return "; --queue-size, or a spool on disk (--spool-size), holds more";
  if (reason == "spool full") return "; a larger --spool-size holds more";
  if (reason == "spool age") return "; a larger --spool-age keeps them longer";
  if (reason == "not stored") return "; is the disk full?";
  return "";
}

std::string Duration(uint64_t ns) {
  const uint64_t seconds = std::max<uint64_t>((ns + 500'000'000) / 1'000'000'000, 1);
  return seconds < 120 ? fmt::format("{} s", seconds) : fmt::format("{} min", (seconds + 30) / 60);
}

std::string Subject(const std::string& who) {
  if (who.empty()) return "";
  return who == "history" ? "history: " : fmt::format("receiver {}: ", who);
}

}  // namespace

void LossLog::LookAt(const Kind& kind, uint64_t total, uint64_t now_ns, bool at_the_end,
                     std::vector<Line>& lines) {
  const auto& [who, why] = kind;
  if (total == 0 && !losses_.contains(kind)) return;
  Loss& loss = losses_[kind];
  if (total < loss.total) loss.total = loss.before = total;  // Another sink of that name.
  const uint64_t few = why == "scratch busy" ? kFewScratchBusy : 0;
  if (total > loss.total) {
    if (!loss.open && total - loss.before > few) {
      loss.open = true;
      loss.began_ns = last_look_ns_ != 0 ? last_look_ns_ : now_ns;  // It was after that look.
      if (!at_the_end)
        lines.push_back({fmt::format("{}samples are being lost: {} ({} so far){}", Subject(who),
                                     why, total - loss.before, Advice(why)),
                         fmt::format("{} {} begins", who, why)});
    }
    loss.last_ns = now_ns;
  }
  loss.total = total;
  const bool is_quiet = now_ns - loss.last_ns >= kQuietNs;
  if (loss.open && (is_quiet || at_the_end)) {
    lines.push_back({fmt::format("{}{}: {} samples were lost within {}", Subject(who),
                                 is_quiet ? "no more samples are lost to " + why : why,
                                 loss.total - loss.before, Duration(loss.last_ns - loss.began_ns)),
                     fmt::format("{} {} ends", who, why)});
    loss.open = false;
  }
  if (!loss.open && is_quiet) loss.before = loss.total;
}

std::vector<LossLog::Line> LossLog::Look(const AgentSnapshot& snapshot, bool at_the_end) {
  std::vector<Line> lines;
  const uint64_t now_ns = snapshot.boot_time_ns;
  const SessionMark session = MarkOf(snapshot.session.counts);
  const std::array<uint64_t, kOfSampling.size()> totals = {session.ring_full, session.scratch_busy,
                                                           session.damaged_records};
  for (size_t i = 0; i < kOfSampling.size(); ++i)
    LookAt({"", std::string(kOfSampling[i])}, totals[i], now_ns, at_the_end, lines);
  for (const TakerCounts& taker : snapshot.takers)
    for (const auto& [reason, samples] : taker.lost)
      if (!IsOfSampling(reason)) LookAt({taker.name, reason}, samples, now_ns, at_the_end, lines);
  last_look_ns_ = now_ns;
  return lines;
}

}  // namespace stackray
