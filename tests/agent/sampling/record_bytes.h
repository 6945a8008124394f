// Records as the programs in the kernel write them (bpf/shared/records.h), made by hand.
#ifndef STACKRAY_TESTS_AGENT_SAMPLING_RECORD_BYTES_H_
#define STACKRAY_TESTS_AGENT_SAMPLING_RECORD_BYTES_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/shared/records.h"

namespace stackray::test {

// 8-byte aligned, as in the ring.
struct RecordBytes {
  std::vector<uint64_t> words;
  size_t size = 0;
  std::span<const uint8_t> bytes() const {
    return {reinterpret_cast<const uint8_t*>(words.data()), size};
  }
  uint8_t* data() { return reinterpret_cast<uint8_t*>(words.data()); }
};

struct SampleParts {
  process_key process = {};
  uint64_t time_ns = 0;
  uint32_t tid = 0, cpu = 0;
  std::string_view leader_command, thread_command;
  uint32_t end = END_UNDEFINED_RA, flags = 0;
  std::vector<uint64_t> kernel, user;
  std::vector<code_range> ranges;
  std::vector<uint8_t> raw;
  unwind_registers resume = {};
};

inline uint64_t FrameWord(frame_kind kind, uint64_t range, uint64_t offset) {
  return static_cast<uint64_t>(kind) << FRAME_KIND_SHIFT | range << FRAME_RANGE_SHIFT |
         (offset & FRAME_OFFSET_MASK);
}

inline void SetCommand(std::string_view text, char (&command)[COMMAND_BYTES]) {
  text.copy(command, COMMAND_BYTES - 1);
}

inline RecordBytes MakeSample(const SampleParts& parts) {
  sample_record record = {};
  const size_t size = sizeof(record) + 8 * (parts.kernel.size() + parts.user.size()) +
                      sizeof(code_range) * parts.ranges.size() + parts.raw.size();
  record.header = {RECORD_LAYOUT_VERSION, RECORD_SAMPLE, static_cast<u32>(size), parts.time_ns};
  record.process = parts.process;
  record.tid = parts.tid;
  record.cpu = parts.cpu;
  SetCommand(parts.leader_command, record.leader_command);
  SetCommand(parts.thread_command, record.thread_command);
  record.end = static_cast<u8>(parts.end);
  record.flags = static_cast<u8>(parts.flags);
  record.range_count = static_cast<u16>(parts.ranges.size());
  record.kernel_count = static_cast<u16>(parts.kernel.size());
  record.user_words = static_cast<u16>(parts.user.size());
  record.raw_bytes = static_cast<u32>(parts.raw.size());
  record.resume = parts.resume;
  RecordBytes out{.words = std::vector<uint64_t>((size + 7) / 8), .size = size};
  uint8_t* at = out.data();
  const auto append = [&at](const void* from, size_t bytes) {
    if (bytes > 0) std::memcpy(at, from, bytes);
    at += bytes;
  };
  append(&record, sizeof(record));
  append(parts.kernel.data(), 8 * parts.kernel.size());
  append(parts.user.data(), 8 * parts.user.size());
  append(parts.ranges.data(), sizeof(code_range) * parts.ranges.size());
  append(parts.raw.data(), parts.raw.size());
  return out;
}

struct EventParts {
  record_type type = RECORD_EXEC;
  uint32_t flags = 0;
  process_key parent = {};
  std::string path = {}, cgroup = {}, cgroup_v1 = {};
  std::string_view command = {};
};

// "/a/b" as "b\0a\0"; the root as nothing.
inline std::string Components(std::string_view path) {
  std::string components;
  while (!path.empty()) {
    const size_t slash = path.rfind('/');
    components += path.substr(slash + 1);
    if (path != "/") components += '\0';
    path = path.substr(0, slash);
  }
  return components;
}

inline RecordBytes MakeEvent(const EventParts& parts, const process_key& process,
                             uint64_t time_ns) {
  const std::string path = Components(parts.path), cgroup = Components(parts.cgroup),
                    cgroup_v1 = Components(parts.cgroup_v1), names = path + cgroup + cgroup_v1;
  const size_t size = sizeof(process_record) + (names.size() + 7) / 8 * 8;
  process_record record = {};
  record.header = {RECORD_LAYOUT_VERSION, static_cast<u16>(parts.type), static_cast<u32>(size),
                   time_ns};
  record.process = process;
  record.parent = parts.parent;
  record.path_bytes = static_cast<u16>(path.size());
  record.cgroup_bytes = static_cast<u16>(cgroup.size());
  record.cgroup_v1_bytes = static_cast<u16>(cgroup_v1.size());
  record.flags = static_cast<u16>(parts.flags);
  SetCommand(parts.command, record.leader_command);
  RecordBytes out{.words = std::vector<uint64_t>(size / 8), .size = size};
  std::memcpy(out.data(), &record, sizeof(record));
  std::memcpy(out.data() + sizeof(record), names.data(), names.size());
  return out;
}

// Without names, as if they could not be read.
inline RecordBytes MakeEvent(record_type type, const process_key& process, uint32_t parent_pid,
                             std::string_view command, uint64_t time_ns) {
  return MakeEvent({.type = type, .parent = {.pid = parent_pid}, .command = command}, process,
                   time_ns);
}

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_AGENT_SAMPLING_RECORD_BYTES_H_
