// A sign of life on disk, so that the next agent knows how long nobody sampled when this one does
// not end in order (SIGKILL, out of memory, a power cut).
//
//   STATE_DIR/agent/heartbeat: one line of text, rewritten in place every two seconds.
//
// Nobody waits for the disk: after a power cut the line may be half a minute old, and the gap is
// then said too long, never too short.
#ifndef STACKRAY_AGENT_DAEMON_HEARTBEAT_H_
#define STACKRAY_AGENT_DAEMON_HEARTBEAT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stackray {

struct Heartbeat {
  bool running = false;  // False: that agent ended in order.
  uint32_t pid = 0;
  std::string boot_id;        // /proc/sys/kernel/random/boot_id: 36 characters.
  uint64_t boot_time_ns = 0;  // CLOCK_BOOTTIME, when it was written.
  int64_t unix_ms = 0;        // That moment by the wall clock.
  // Samples that were in memory alone then (ring, open batch, queues without a spool): of the most
  // behind receiver.
  uint64_t samples_in_memory = 0;

  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

// What an agent that did not end in order has cost.
struct UncleanStop {
  // Without sampling, until the next one began; absent where the clock went back over a reboot.
  std::optional<double> gap_seconds;
  int64_t last_sign_unix_ms = 0;
  uint64_t samples_in_memory = 0;  // Lost with it, as of its last sign.
};

// The facts of now; samples_in_memory is 0.
Heartbeat HeartbeatNow();

std::string EncodeHeartbeat(const Heartbeat& heartbeat);
// Input: any bytes. Nothing where they are no whole heartbeat.
std::optional<Heartbeat> DecodeHeartbeat(std::string_view text);

// What the last heartbeat of the agent before says `now`. Nothing where it ended in order.
std::optional<UncleanStop> FindUncleanStop(const Heartbeat& last, const Heartbeat& now);

// "the agent before this one (pid 7) did not stop in order: nothing was sampled for 12.3 s, …".
std::string DescribeUncleanStop(const Heartbeat& last, const UncleanStop& stop);

}  // namespace stackray

#endif  // STACKRAY_AGENT_DAEMON_HEARTBEAT_H_
