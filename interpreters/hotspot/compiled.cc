#include "interpreters/hotspot/compiled.h"

#include <algorithm>
#include <array>
#include <optional>

#include "absl/status/status.h"
#include "interpreters/checked_memory.h"
#include "interpreters/hotspot/method.h"
#include "interpreters/hotspot/unsigned5.h"

namespace stackray::hotspot {
namespace {

constexpr uint64_t kPcDescBytes = 16, kMostPcDescBytes = 4 << 20;
constexpr uint64_t kScopeOffset = 4;    // In a PcDesc.
constexpr size_t kScopeHeadBytes = 15;  // Three numbers.
constexpr size_t kMostInlined = 64;     // Deeper ones are cut off outside.
constexpr uint32_t kMostMethods = 1 << 20;

absl::Status Failure(const ProcessMemory& memory) {
  return memory.IsGone() ? absl::NotFoundError("the process is gone")
                         : absl::DataLossError("no compiled method any more");
}

struct Nmethod {
  uint64_t at = 0, code = 0, method = 0;
  uint64_t pcs = 0, pcs_end = 0, scopes = 0, metadata = 0;
};

using Bytes = std::array<uint8_t, HOTSPOT_BLOB_BYTES>;

// The addresses of an nmethod whose fields, from its block's header on, are `bytes`.
Nmethod Locate(const Layout& layout, uint64_t at, const Bytes& bytes) {
  const auto half = [&](u16 field) { return NumberAt<uint32_t>(bytes, layout.bpf.blob + field); };
  const auto word = [&](u16 field) { return NumberAt<uint64_t>(bytes, layout.bpf.blob + field); };
  Nmethod found{.at = at, .method = word(layout.bpf.method)};
  found.code =
      layout.bpf.are_pointers ? word(layout.bpf.code_begin) : at + half(layout.bpf.code_begin);
  const uint64_t debug = layout.immutable_data == kNoField ? at : word(layout.immutable_data);
  found.pcs = debug + half(layout.scopes_pcs);
  found.pcs_end = debug + half(layout.pcs_end);
  found.scopes =
      layout.is_scopes_pointer ? word(layout.scopes_begin) : debug + half(layout.scopes_begin);
  if (layout.metadata != kNoField)
    found.metadata = at + half(layout.metadata);
  else if (layout.mutable_data != kNoField && layout.relocation_bytes != kNoField)
    found.metadata = word(layout.mutable_data) + half(layout.relocation_bytes);
  if (debug == 0) found.pcs = found.pcs_end = 0;
  return found;
}

struct Scope {
  uint32_t sender = 0, method = 0;
  int32_t bytecode = -1;
};

std::optional<Scope> ReadScope(ProcessMemory& memory, const Layout& layout, uint64_t at) {
  std::array<uint8_t, kScopeHeadBytes> bytes{};
  if (!memory.Read(at, bytes)) return std::nullopt;
  Unsigned5 numbers(bytes, layout.unsigned5_excluded);
  const std::optional<uint32_t> sender = numbers.Next(), method = numbers.Next(),
                                bytecode = numbers.Next();
  if (!sender || !method || !bytecode) return std::nullopt;
  return Scope{*sender, *method, static_cast<int32_t>(*bytecode) - 1};
}

// The lines from the innermost scope outwards; empty where one of them makes no sense.
std::vector<SourceLine> ReadScopes(ProcessMemory& memory, const Layout& layout,
                                   const Nmethod& nmethod, uint32_t offset) {
  std::vector<SourceLine> lines;
  while (offset != 0 && lines.size() < kMostInlined) {
    const std::optional<Scope> scope = ReadScope(memory, layout, nmethod.scopes + offset);
    if (!scope || scope->method == 0 || scope->method > kMostMethods || scope->sender >= offset)
      return {};
    const auto method_at =
        ReadNumber<uint64_t>(memory, nmethod.metadata + 8 * (uint64_t{scope->method} - 1));
    const absl::StatusOr<Method> method = ReadMethod(memory, layout, method_at, std::nullopt);
    if (!method.ok()) return {};
    // -1: a synchronized method waits for its lock. The JVM calls that its first line.
    lines.push_back(method->At(std::max(scope->bytecode, 0)));
    offset = scope->sender;
  }
  return lines;
}

uint32_t FindScope(ProcessMemory& memory, const Nmethod& nmethod, const CompiledPlace& at) {
  if (nmethod.pcs_end <= nmethod.pcs || nmethod.pcs_end - nmethod.pcs > kMostPcDescBytes) return 0;
  std::vector<uint8_t> pc_descs(nmethod.pcs_end - nmethod.pcs);
  if (!memory.Read(nmethod.pcs, pc_descs)) return 0;
  const uint64_t pc = nmethod.at + (at.place & ~HOTSPOT_RETURN_BIT);
  return ScopeOfPlace(pc_descs, static_cast<int32_t>(pc - nmethod.code));
}

// The nmethod at hand: its block's header and its fields. Which one it is, and whether it still is
// there, has to hold at the end; other fields of it change all the time. Its class is not unloaded
// as long as it has its method.
std::optional<Bytes> ReadNmethod(CheckedMemory& memory, const Layout& layout,
                                 const CompiledPlace& at) {
  const uint64_t block = at.nmethod - layout.bpf.blob;
  Bytes bytes{};
  if (!memory.unchecked().Read(block, bytes)) return std::nullopt;
  const auto is_known = [&](uint64_t offset, size_t count) {
    Bytes again{};
    const auto seen = std::span(bytes).subspan(offset, count);
    return memory.Read(block + offset, std::span(again).first(count)) &&
           std::ranges::equal(seen, std::span(again).first(count));
  };
  if (!is_known(layout.bpf.used, 1) ||
      !is_known(layout.bpf.blob + layout.bpf.compile_id, sizeof(uint32_t)) ||
      !is_known(layout.bpf.blob + layout.bpf.method, sizeof(uint64_t)))
    return std::nullopt;
  return bytes;
}

// Errors: as ReadCompiled().
absl::StatusOr<std::vector<SourceLine>> ReadLinesOf(CheckedMemory& memory, const Layout& layout,
                                                    const CompiledPlace& at) {
  const std::optional<Bytes> bytes = ReadNmethod(memory, layout, at);
  if (!bytes) return Failure(memory);
  if ((*bytes)[layout.bpf.used] == 0 ||
      NumberAt<uint32_t>(*bytes, layout.bpf.blob + layout.bpf.compile_id) != at.compile_id)
    return absl::DataLossError("another compiled method by now");
  const Nmethod nmethod = Locate(layout, at.nmethod, *bytes);
  if (nmethod.method == 0) return absl::DataLossError("a method whose class is unloaded");
  std::vector<SourceLine> lines =
      ReadScopes(memory, layout, nmethod, FindScope(memory.unchecked(), nmethod, at));
  if (!lines.empty()) return lines;
  const absl::StatusOr<Method> method = ReadMethod(memory, layout, nmethod.method, std::nullopt);
  if (!method.ok()) return method.status();
  return std::vector{method->At(-1)};
}

}  // namespace

uint32_t ScopeOfPlace(std::span<const uint8_t> pc_descs, int32_t place) {
  size_t low = 0, high = pc_descs.size() / kPcDescBytes;
  while (low < high) {  // The first that is not before the place.
    const size_t middle = low + (high - low) / 2;
    if (NumberAt<int32_t>(pc_descs, middle * kPcDescBytes) < place)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == pc_descs.size() / kPcDescBytes) return 0;
  return NumberAt<uint32_t>(pc_descs, low * kPcDescBytes + kScopeOffset);
}

size_t CompiledCode::bytes() const {
  size_t bytes = sizeof(*this);
  for (const SourceLine& line : lines_)
    bytes += sizeof(line) + line.function.size() + line.system_name.size() + line.file.size();
  return bytes;
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> ReadCompiled(ProcessMemory& direct,
                                                                const Layout& layout,
                                                                const CompiledPlace& at) {
  absl::StatusOr<std::vector<SourceLine>> lines = ReadHolding<std::vector<SourceLine>>(
      direct, [&](CheckedMemory& memory) { return ReadLinesOf(memory, layout, at); });
  if (!lines.ok()) return lines.status();
  return std::make_shared<const CompiledCode>(*std::move(lines));
}

}  // namespace stackray::hotspot
