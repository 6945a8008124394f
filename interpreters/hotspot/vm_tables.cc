#include "interpreters/hotspot/vm_tables.h"

#include <array>
#include <functional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "interpreters/paged_memory.h"

namespace stackray::hotspot {
namespace {

// Entries as all JDKs from 8 to 28 have them.
constexpr uint64_t kStructBytes = 48, kTypeBytes = 40, kIntConstantBytes = 16;
struct StructEntry {
  static constexpr uint64_t kType = 0, kField = 8, kTypeText = 16, kOffset = 32, kAddress = 40;
};
struct TypeEntry {
  static constexpr uint64_t kName = 0, kSize = 32;
};
struct IntConstantEntry {
  static constexpr uint64_t kName = 0, kValue = 8;
};

using Entry = std::span<const uint8_t>;

absl::Status CheckStride(ProcessMemory& memory, uint64_t variable, uint64_t expected) {
  const auto stride = ReadNumber<uint64_t>(memory, variable);
  if (stride == 0) return absl::UnavailableError("the JVM's library is not initialised yet");
  return stride == expected ? absl::OkStatus()
                            : absl::UnimplementedError("tables of another shape");
}

// `take` gets each entry's name too, which the first word points at.
absl::Status ReadTable(ProcessMemory& memory, uint64_t variable, uint64_t entry_bytes,
                       const std::function<void(Entry, std::string name)>& take) {
  uint64_t at = ReadNumber<uint64_t>(memory, variable);
  if (at == 0) return absl::DataLossError("no tables of the JVM");
  std::array<uint8_t, kStructBytes> bytes{};
  const std::span<uint8_t> entry = std::span(bytes).first(entry_bytes);
  for (size_t i = 0; i < kMostEntries; ++i, at += entry_bytes) {
    if (!memory.Read(at, entry)) return absl::DataLossError("a table of the JVM that ends nowhere");
    const auto name = NumberAt<uint64_t>(entry, 0);
    if (name == 0) return absl::OkStatus();
    take(entry, TextAt(memory, name, kMostNameBytes));
  }
  return absl::DataLossError("a table of the JVM without an end");
}

}  // namespace

absl::StatusOr<VmTables> VmTables::Read(ProcessMemory& direct, const VmSymbols& symbols) {
  PagedMemory memory(direct);
  for (const auto& [variable, expected] :
       {std::pair(symbols.struct_stride, kStructBytes), std::pair(symbols.type_stride, kTypeBytes),
        std::pair(symbols.int_constant_stride, kIntConstantBytes)})
    if (absl::Status status = CheckStride(memory, variable, expected); !status.ok()) return status;
  VmTables tables;
  absl::Status status =
      ReadTable(memory, symbols.structs, kStructBytes, [&](Entry entry, const std::string& type) {
        const std::string field =
            TextAt(memory, NumberAt<uint64_t>(entry, StructEntry::kField), kMostNameBytes);
        tables.fields_[type + "::" + field] = {
            .offset = NumberAt<uint64_t>(entry, StructEntry::kOffset),
            .address = NumberAt<uint64_t>(entry, StructEntry::kAddress),
            .type =
                TextAt(memory, NumberAt<uint64_t>(entry, StructEntry::kTypeText), kMostNameBytes)};
      });
  if (!status.ok()) return status;
  status = ReadTable(memory, symbols.types, kTypeBytes, [&](Entry entry, std::string name) {
    tables.type_bytes_[std::move(name)] = NumberAt<uint64_t>(entry, TypeEntry::kSize);
  });
  if (!status.ok()) return status;
  status = ReadTable(
      memory, symbols.int_constants, kIntConstantBytes, [&](Entry entry, std::string name) {
        tables.constants_[std::move(name)] = NumberAt<int32_t>(entry, IntConstantEntry::kValue);
      });
  if (!status.ok()) return status;
  return tables;
}

const VmField* VmTables::Field(std::string_view name) const {
  const auto found = fields_.find(name);
  return found == fields_.end() ? nullptr : &found->second;
}

std::optional<uint64_t> VmTables::TypeBytes(std::string_view type) const {
  const auto found = type_bytes_.find(type);
  return found == type_bytes_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<int32_t> VmTables::Constant(std::string_view name) const {
  const auto found = constants_.find(name);
  return found == constants_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace stackray::hotspot
