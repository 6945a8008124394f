#include "agent/sampling/context_reader.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "kernel/foreign/foreign_reads.h"
#include "kernel/process_info.h"
#include "kernel/unique_fd.h"

namespace stackray {
namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kLeastAgeNs = kSecondNs;
constexpr uint64_t kLongestWaitS = 256;
// A process that begins to publish is found when an eighth of its age has passed since.
constexpr uint64_t kLooksAnAge = 8;
constexpr uint64_t kBeatSlackNs = kSecondNs / 10;  // The session's beat is not exact.
constexpr size_t kMostTextOfOne = 512 << 10;
constexpr uint64_t kTextPerSecond = 512 << 10;
constexpr size_t kBufferBytes = 16 << 10;
constexpr size_t kMostCandidates = 4;  // Mappings of that name.
constexpr int kMostTries = 3;
constexpr size_t kMostHeldBytes = 8 << 20;

using Outcome = ContextReading::Outcome;
using HeaderBytes = std::array<uint8_t, kContextHeaderBytes>;

ContextReading Parsed(uint64_t published_at_ns, std::string_view payload) {
  absl::StatusOr<ProcessContext> context = ParseContextPayload(payload);
  if (!context.ok()) return {.outcome = Outcome::kUnusable, .published_at_ns = published_at_ns};
  return {.outcome = Outcome::kRead,
          .published_at_ns = published_at_ns,
          .context = *std::move(context)};
}

// kBusy: it changed meanwhile.
ContextReading ReadPayload(ProcessMemory& memory, uint64_t address, const HeaderBytes& before,
                           const ContextHeader& header) {
  std::string payload;
  bool readable = header.payload_bytes <= kMaxContextPayloadBytes;
  if (readable) {
    payload.resize(header.payload_bytes);
    readable = payload.empty() ||
               memory.Read(header.payload_address,
                           {reinterpret_cast<uint8_t*>(payload.data()), payload.size()});
    if (!readable && memory.IsGone()) return {.outcome = Outcome::kGone};
  }
  HeaderBytes after;
  if (!memory.Read(address, after))
    return {.outcome = memory.IsGone() ? Outcome::kGone : Outcome::kNone};
  if (after != before) return {.outcome = Outcome::kBusy};
  if (!readable) return {.outcome = Outcome::kUnusable, .published_at_ns = header.published_at_ns};
  return Parsed(header.published_at_ns, payload);
}

ContextReading ReadOnce(ProcessMemory& memory, uint64_t address, uint64_t known_published_at_ns) {
  HeaderBytes bytes;
  if (!memory.Read(address, bytes))
    return {.outcome = memory.IsGone() ? Outcome::kGone : Outcome::kNone};
  const std::optional<ContextHeader> header = ParseContextHeader(bytes);
  if (!header) return {.outcome = Outcome::kNone};
  if (header->published_at_ns == 0) return {.outcome = Outcome::kBusy};
  if (header->published_at_ns == known_published_at_ns) return {.outcome = Outcome::kSame};
  return ReadPayload(memory, address, bytes, *header);
}

struct FoundMappings {
  std::array<uint64_t, kMostCandidates> addresses = {};
  uint64_t text_bytes = 0;
  uint32_t count = 0, has_library = 0, met_bound = 0;
};

// A job: /proc/PID/maps is read where it may wait.
void ScanMappings(ForeignJob& job) {
  FoundMappings found;
  const UniqueFd fd(open(fmt::format("/proc/{}/maps", job.pid()).c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<char> buffer(kBufferBytes);
  std::vector<uint64_t> addresses;
  size_t kept = 0;
  while (fd.valid() && addresses.size() < kMostCandidates && found.met_bound == 0) {
    const ssize_t bytes = read(fd.get(), buffer.data() + kept, buffer.size() - kept);
    if (bytes <= 0) break;
    found.text_bytes += static_cast<size_t>(bytes);
    const std::string_view text(buffer.data(), kept + static_cast<size_t>(bytes));
    const size_t whole = FindContextMappings(text, &addresses);
    found.has_library |= NamesContextLibrary(text.substr(0, whole)) ? 1 : 0;
    const std::string_view rest = text.substr(whole);
    kept = rest.size() == buffer.size() ? 0 : rest.size();  // No line is as long as that.
    std::copy_n(rest.data(), kept, buffer.data());
    found.met_bound = found.text_bytes >= kMostTextOfOne ? 1 : 0;
  }
  found.count = static_cast<uint32_t>(std::min(addresses.size(), kMostCandidates));
  std::copy_n(addresses.begin(), found.count, found.addresses.begin());
  job.AppendValue(found);
}

size_t HeldBytes(const ProcessContext& context) {
  using Attribute = std::pair<std::string, AttributeValue>;
  size_t bytes = sizeof(ProcessContext) + context.service_name.capacity() +
                 context.attributes.capacity() * sizeof(Attribute);
  for (const auto& [key, value] : context.attributes) {
    bytes += key.capacity();
    if (const auto* text = std::get_if<std::string>(&value)) bytes += text->capacity();
  }
  bytes += context.threads.version.capacity();
  for (const std::string& key : context.threads.keys) bytes += sizeof(std::string) + key.capacity();
  return bytes;
}

// Counted in *held for as long as anybody has it. nullptr: no room.
std::shared_ptr<const ProcessContext> Hold(ProcessContext context,
                                           const std::shared_ptr<size_t>& held) {
  const size_t bytes = HeldBytes(context);
  if (*held + bytes > kMostHeldBytes) return nullptr;
  *held += bytes;
  return {new ProcessContext(std::move(context)), [held, bytes](const ProcessContext* last) {
            *held -= bytes;
            delete last;
          }};
}

}  // namespace

ContextReading ReadContext(ProcessMemory& memory, uint64_t address,
                           uint64_t known_published_at_ns) {
  ContextReading reading;
  for (int i = 0; i < kMostTries; ++i) {
    reading = ReadOnce(memory, address, known_published_at_ns);
    if (reading.outcome != Outcome::kBusy) break;
  }
  return reading;
}

// False: nothing was learned of a context.
bool ContextReader::Take(const ProcessId& id, const ContextReading& reading, ContextWatch& watch) {
  const bool is_new = reading.outcome == Outcome::kRead || reading.outcome == Outcome::kUnusable;
  if (!is_new) return reading.outcome != Outcome::kNone;
  if (!IsSameProcess(id)) return true;  // It ended: what is known stays.
  watch.published_at_ns = reading.published_at_ns;
  watch.context = nullptr;
  if (reading.outcome == Outcome::kRead) watch.context = Hold(reading.context, held_bytes_);
  return true;
}

// False: the bound was met before the last mapping.
bool ContextReader::FindMappings(uint32_t pid, std::vector<uint64_t>* addresses,
                                 bool* has_library) {
  const ForeignAnswer answer = CallForeign(pid, &ScanMappings, {});
  const auto found = AnswerValue<FoundMappings>(answer);
  text_bytes_ += found.text_bytes;
  *has_library |= found.has_library != 0;
  addresses->assign(found.addresses.begin(),
                    found.addresses.begin() + std::min<size_t>(found.count, kMostCandidates));
  return answer.error != 0 || found.met_bound == 0;
}

void ContextReader::Look(const ProcessId& id, ContextWatch& watch) {
  ++looks_;
  const uint64_t text_before = text_bytes_;
  std::vector<uint64_t> addresses;
  const bool saw_all = FindMappings(id.pid, &addresses, &watch.has_context_library);
  text_budget_bytes_ -= static_cast<int64_t>(text_bytes_ - text_before);
  if (!saw_all) watch.least_wait_s = kLongestWaitS;
  LiveProcessMemory memory(id.pid);
  addresses.resize(std::min(addresses.size(), kMostCandidates));
  for (const uint64_t address : addresses) {
    const ContextReading reading = ReadContext(memory, address, 0);
    if (!Take(id, reading, watch)) continue;
    watch.address = address;
    return;
  }
}

// Half of the budget is for first looks, which others' later ones must not use up.
bool ContextReader::MayLook(const ContextWatch& watch, uint64_t now_ns) {
  const uint64_t passed_ns = now_ns - std::min(now_ns, budget_time_ns_);
  const uint64_t earned =
      passed_ns >= 10 * kSecondNs ? kMostTextAtOnce : passed_ns / 1000 * kTextPerSecond / 1'000'000;
  if (earned > 0) budget_time_ns_ = now_ns;  // Else the moments since then go on to count.
  text_budget_bytes_ =
      std::min<int64_t>(kMostTextAtOnce, text_budget_bytes_ + static_cast<int64_t>(earned));
  return text_budget_bytes_ > (watch.next_look_ns == 0 ? 0 : kMostTextAtOnce / 2);
}

void ContextReader::Follow(const ProcessId& id, uint64_t since_ns, uint64_t now_ns,
                           ContextWatch& watch) {
  if (watch.address != 0) {
    LiveProcessMemory memory(id.pid);
    if (Take(id, ReadContext(memory, watch.address, watch.published_at_ns), watch)) return;
    watch.address = 0;  // Perhaps it is somewhere else now; until then what it said holds.
    watch.published_at_ns = 0;
  }
  if (now_ns < since_ns + kLeastAgeNs || now_ns < watch.next_look_ns || !MayLook(watch, now_ns))
    return;
  Look(id, watch);
  const uint64_t wait_ns = std::clamp((now_ns - since_ns) / kLooksAnAge,
                                      watch.least_wait_s * kSecondNs, kLongestWaitS * kSecondNs);
  watch.next_look_ns = now_ns + wait_ns - kBeatSlackNs;
}

}  // namespace stackray
