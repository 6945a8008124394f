#include "reporter/formats/pprof_tables.h"

#include <fmt/format.h>

namespace stackray {
namespace {

// Of a table that has just grown, when it was full: its elements twice, a byte of control each.
template <typename Map>
size_t TableBytes(const Map& map) {
  return map.capacity() * (sizeof(typename Map::value_type) + 1) * 3 / 2;
}

}  // namespace

size_t PprofTables::bytes() const {
  return text_.capacity() * 3 / 2 + ends_.capacity() * sizeof(uint32_t) * 3 / 2 +
         TableBytes(mappings_) + TableBytes(locations_) + TableBytes(functions_) + line_bytes_;
}

absl::Status PprofTables::Take(const WireField& field) {
  if (!TakeField(field)) return absl::DataLossError("it is no pprof profile, or damaged");
  if (bytes() <= most_bytes_) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      fmt::format("its tables need more than {} MiB of memory, which is more than a profile of "
                  "this length may need",
                  most_bytes_ >> 20));
}

bool PprofTables::TakeField(const WireField& field) {
  switch (field.number) {
    case 1: return TakeType(field.bytes);
    case 3: return TakeMapping(field.bytes);
    case 4: return TakeLocation(field.bytes);
    case 5: return TakeFunction(field.bytes);
    case 6:
      text_ += field.bytes;
      ends_.push_back(static_cast<uint32_t>(text_.size()));
      return text_.size() <= UINT32_MAX;
    case 9: time_ns_ = static_cast<int64_t>(field.value); return true;
    case 10: duration_ns_ = static_cast<int64_t>(field.value); return true;
    default: return true;
  }
}

bool PprofTables::TakeType(std::string_view message) {
  std::pair<uint64_t, uint64_t> type;
  if (types_.size() >= kMostTypes || !EachField(message, [&](const WireField& field) {
        if (field.number == 1) type.first = field.value;
        if (field.number == 2) type.second = field.value;
        return true;
      }))
    return false;
  types_.push_back(type);
  return true;
}

bool PprofTables::TakeMapping(std::string_view message) {
  uint64_t id = 0, file = 0;
  if (!EachField(message, [&](const WireField& field) {
        if (field.number == 1) id = field.value;
        if (field.number == 5) file = field.value;
        return true;
      }))
    return false;
  mappings_[id] = file;
  return true;
}

bool PprofTables::TakeLocation(std::string_view message) {
  uint64_t id = 0;
  Location location;
  const auto read_line = [&](std::string_view line) {
    Line& made = location.lines.emplace_back();
    return EachField(line, [&](const WireField& field) {
      if (field.number == 1) made.function = field.value;
      if (field.number == 2) made.line = static_cast<int64_t>(field.value);
      return true;
    });
  };
  if (!EachField(message, [&](const WireField& field) {
        if (field.number == 1) id = field.value;
        if (field.number == 2) location.mapping = field.value;
        if (field.number == 3) location.address = field.value;
        if (field.number != 4) return true;
        return location.lines.size() < kMostLines && read_line(field.bytes);
      }))
    return false;
  location.lines.shrink_to_fit();
  line_bytes_ += location.lines.size() * sizeof(Line) + 16;
  locations_[id] = std::move(location);
  return true;
}

bool PprofTables::TakeFunction(std::string_view message) {
  uint64_t id = 0;
  Function function;
  if (!EachField(message, [&](const WireField& field) {
        if (field.number == 1) id = field.value;
        if (field.number == 2) function.name = field.value;
        if (field.number == 4) function.file = field.value;
        return true;
      }))
    return false;
  functions_[id] = function;
  return true;
}

std::string_view PprofTables::Text(uint64_t index) const {
  if (index >= ends_.size()) return {};
  const size_t begin = index == 0 ? 0 : ends_[index - 1];
  return std::string_view(text_).substr(begin, ends_[index] - begin);
}

const PprofTables::Location* PprofTables::FindLocation(uint64_t id) const {
  const auto found = locations_.find(id);
  return found == locations_.end() ? nullptr : &found->second;
}

const PprofTables::Function* PprofTables::FindFunction(uint64_t id) const {
  const auto found = functions_.find(id);
  return found == functions_.end() ? nullptr : &found->second;
}

std::string_view PprofTables::MappingFile(uint64_t id) const {
  const auto found = mappings_.find(id);
  return found == mappings_.end() ? std::string_view() : Text(found->second);
}

}  // namespace stackray
