// What a process publishes about itself in its own memory: the bytes of a process context.
//
// An SDK maps a piece of memory that is named OTEL_CTX (a memfd, or anonymous memory with a name)
// and begins with a header; the header points at the payload, a protobuf message. It is changed in
// place.
//
// Input:   any bytes: the process writes what it likes, and while it is read.
// Facts:   opentelemetry-specification, oteps/profiles/4719-process-ctx.md of August 2026; messages
//          of opentelemetry-proto 1.10 (resource, common).
// Threads: pure functions.
#ifndef STACKRAY_AGENT_SAMPLING_PROCESS_CONTEXT_H_
#define STACKRAY_AGENT_SAMPLING_PROCESS_CONTEXT_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "profile/process.h"

namespace stackray {

inline constexpr size_t kContextHeaderBytes = 32;
inline constexpr size_t kMaxContextPayloadBytes = 16 << 10;
inline constexpr size_t kMaxContextAttributes = 64;
inline constexpr size_t kMaxContextKeyBytes = 256;

struct ContextHeader {
  uint32_t payload_bytes = 0;
  uint64_t published_at_ns = 0;  // CLOCK_BOOTTIME; 0: it is being written.
  uint64_t payload_address = 0;  // In the process.
};

inline constexpr size_t kMaxThreadKeys = 256;  // A label names its key by one byte.

// How the process's threads say what they work on (OTEP 4947). No part of what is exported.
struct ThreadSchema {
  std::string version;  // threadlocal.schema_version; empty: they do not.
  // threadlocal.attribute_key_map: names of labels, by index. An empty one is not usable.
  std::vector<std::string> keys;

  friend bool operator==(const ThreadSchema&, const ThreadSchema&) = default;
};

// The resource of a context. Keys are unique and not empty, texts valid UTF-8 and not empty.
struct ProcessContext {
  std::string service_name;
  std::vector<std::pair<std::string, AttributeValue>> attributes;  // The others, in their order.
  ThreadSchema threads;
};

// Mappings in `text` (of /proc/PID/maps) with a context's name: where they begin is appended. Any
// name can be forged or repeated, so the header decides. Looks at whole lines only and returns how
// many bytes they are: the rest of the text belongs before the next piece.
size_t FindContextMappings(std::string_view text, std::vector<uint64_t>* addresses);

// Does a mapping in `text` have the name of a library that keeps thread contexts and publishes
// nothing? custom-labels-v1.md and Elastic's universal-profiling-integration.md fix these names.
bool NamesContextLibrary(std::string_view text);

// nullopt: no header, or one of another version than 2.
std::optional<ContextHeader> ParseContextHeader(std::span<const uint8_t> bytes);

// The payload's resource, and of what else it holds the schema of threads, which some writers put
// into the resource (dd-trace-py issue 18872). Of the resource's attributes are taken texts, truth
// values, whole numbers and decimals; lists and bytes are left out, as are keys over 256 bytes,
// attributes beyond 64, and the command line and environment variables, which go into no batch. Of
// equal keys the first counts. Errors: DataLoss (not such a message).
absl::StatusOr<ProcessContext> ParseContextPayload(std::string_view bytes);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_PROCESS_CONTEXT_H_
