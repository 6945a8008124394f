// libs: stackray_kernel
// What processes and container runtimes choose freely: environments, cgroup paths, names in events.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "kernel/cgroup_path.h"
#include "kernel/raw_sample.h"
#include "kernel/service_environment.h"

namespace {

void CheckFacts(const stackray::CgroupFacts& facts) {
  if (!facts.container_id.empty() && facts.container_id.size() != 64) std::abort();
  if (!facts.container_id.empty() && !facts.container_name.empty()) std::abort();
  if (!facts.pod_uid.empty() && facts.pod_uid.size() != 32 && facts.pod_uid.size() != 36)
    std::abort();
}

void CheckEvent(const uint8_t* data, size_t size) {
  const size_t names = size < EVENT_NAME_BYTES ? size : EVENT_NAME_BYTES;
  std::vector<uint64_t> words((sizeof(process_record) + names + 7) / 8);
  auto* record = reinterpret_cast<process_record*>(words.data());
  record->header = {RECORD_LAYOUT_VERSION, RECORD_EXEC, static_cast<u32>(words.size() * 8), 1};
  record->path_bytes = static_cast<u16>(names / 2);
  record->cgroup_bytes = static_cast<u16>(names - names / 2);
  if (names > 0) std::memcpy(record + 1, data, names);
  const auto decoded =
      stackray::DecodeRecord({reinterpret_cast<const uint8_t*>(words.data()), words.size() * 8});
  if (!decoded.ok()) return;
  const auto& event = std::get<stackray::ProcessEvent>(*decoded);
  if (stackray::PathOf(event.executable).size() > event.executable.size() + 1) std::abort();
  CheckFacts(stackray::ReadCgroupPath(stackray::PathOf(event.cgroup)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (stackray::ParseServiceEnvironment(text).attributes.size() > 64) std::abort();
  CheckFacts(stackray::ReadCgroupPath(text));
  CheckFacts(stackray::ReadProcCgroup(text));
  CheckEvent(data, size);
  return 0;
}
