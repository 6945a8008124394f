#include "agent/daemon/heartbeat.h"

#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <vector>

#include "agent/history/history.h"
#include "kernel/wall_clock.h"

namespace stackray {
namespace {

constexpr std::string_view kFormat = "stackray-heartbeat/1";
constexpr std::string_view kEnd = "end";  // A torn line has none.
constexpr size_t kWords = 8;

std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty() && words.size() <= kWords) {
    const size_t space = std::min(line.find(' '), line.size());
    words.push_back(line.substr(0, space));
    line.remove_prefix(std::min(space + 1, line.size()));
  }
  return words;
}

template <typename T>
bool ReadNumber(std::string_view text, T* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

// It stays the same for as long as any process lives.
const std::string& BootId() {
  static const std::string boot_id = [] {
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::string id;
    return file >> id && id.size() == 36 ? id : "-";
  }();
  return boot_id;
}

}  // namespace

Heartbeat HeartbeatNow() {
  Heartbeat now{.running = true,
                .pid = static_cast<uint32_t>(getpid()),
                .boot_id = BootId(),
                .boot_time_ns = BootTimeNs(),
                .unix_ms = SystemNowMs()};
  return now;
}

std::string EncodeHeartbeat(const Heartbeat& h) {
  return fmt::format("{} {} {} {} {} {} {} {}\n", kFormat, h.running ? "running" : "stopped", h.pid,
                     h.boot_id, h.boot_time_ns, h.unix_ms, h.samples_in_memory, kEnd);
}

std::optional<Heartbeat> DecodeHeartbeat(std::string_view text) {
  const size_t line_end = text.find('\n');
  if (line_end == std::string_view::npos) return std::nullopt;
  const std::vector<std::string_view> words = Words(text.substr(0, line_end));
  if (words.size() != kWords || words[0] != kFormat || words[7] != kEnd) return std::nullopt;
  Heartbeat h{.running = words[1] == "running", .boot_id = std::string(words[3])};
  const bool whole = (h.running || words[1] == "stopped") && words[3].size() <= 36 &&
                     ReadNumber(words[2], &h.pid) && ReadNumber(words[4], &h.boot_time_ns) &&
                     ReadNumber(words[5], &h.unix_ms) && ReadNumber(words[6], &h.samples_in_memory);
  return whole ? std::optional(h) : std::nullopt;
}

std::optional<UncleanStop> FindUncleanStop(const Heartbeat& last, const Heartbeat& now) {
  if (!last.running) return std::nullopt;
  UncleanStop stop{.gap_seconds = std::nullopt,
                   .last_sign_unix_ms = last.unix_ms,
                   .samples_in_memory = last.samples_in_memory};
  // In one boot its clock is right, whatever happened to the wall clock.
  if (last.boot_id == now.boot_id && last.boot_id.size() == 36) {
    if (now.boot_time_ns >= last.boot_time_ns)
      stop.gap_seconds = static_cast<double>(now.boot_time_ns - last.boot_time_ns) / 1e9;
  } else if (now.unix_ms >= last.unix_ms) {
    stop.gap_seconds = static_cast<double>(now.unix_ms - last.unix_ms) / 1e3;
  }
  return stop;
}

std::string DescribeUncleanStop(const Heartbeat& last, const UncleanStop& stop) {
  const std::string gap =
      stop.gap_seconds ? fmt::format("nothing was sampled for {:.1f} s", *stop.gap_seconds)
                       : "how long nothing was sampled cannot be said, as the clock went back";
  return fmt::format(
      "the agent before this one (pid {}) did not stop in order: {}; about {} samples that were in "
      "memory "
      "alone are gone",
      last.pid, gap, stop.samples_in_memory);
}

}  // namespace stackray
