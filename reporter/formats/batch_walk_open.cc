// Opening a batch: finds its tables, and checks every index and every length once.
#include <algorithm>
#include <limits>

#include "reporter/formats/batch_walk.h"
#include "reporter/wire/reader.h"

namespace stackray {
namespace {

constexpr size_t kMostTypes = 64;  // Of further ones it is not asked whether they have times.

}  // namespace

absl::StatusOr<BatchWalk> BatchWalk::Open(std::string_view bytes) {
  BatchWalk walk(bytes);
  bool good = bytes.size() <= std::numeric_limits<int32_t>::max() && walk.FindTables() &&
              walk.CheckTables();
  for (size_t i = 0; good && i < walk.resources_.size(); ++i) {
    const Span span = walk.resources_[i];
    const std::string_view resource = bytes.substr(span.offset, span.bytes);
    good = walk.CheckResource(resource) &&
           walk.EachProfile(resource, [&](std::string_view p) { return walk.CheckProfile(p); });
  }
  if (!good) return absl::DataLossError("OTLP batch: damaged, or an index outside its table");
  return walk;
}

BatchWalk::Span BatchWalk::SpanOf(std::string_view part) const {
  return {static_cast<uint32_t>(part.data() - bytes_.data()), static_cast<uint32_t>(part.size())};
}

bool BatchWalk::FindTables() {
  const bool good = EachField(bytes_, [&](const WireField& field) {
    if (IsBytes(field, 1)) resources_.push_back(SpanOf(field.bytes));
    if (!IsBytes(field, 2)) return true;
    return EachField(field.bytes, [&](const WireField& entry) {
      if (entry.type == WireType::kBytes && entry.number < kTables)
        tables_[entry.number].push_back(SpanOf(entry.bytes));
      return true;
    });
  });
  // Index 0 of a table that was not written at all reads as its zero value.
  for (std::vector<Span>& table : tables_)
    if (table.empty()) table.emplace_back();
  return good;
}

std::string_view BatchWalk::At(TableNumber table, uint64_t index) const {
  const Span span = tables_[table][index];
  return bytes_.substr(span.offset, span.bytes);
}

bool BatchWalk::Inside(TableNumber table, uint64_t index) const {
  return AsIndex(index) < tables_[table].size();
}

bool BatchWalk::CheckTables() const {
  for (const TableNumber table :
       {kMappings, kLocations, kFunctions, kLinks, kAttributes, kStacks}) {
    for (size_t i = 0; i < tables_[table].size(); ++i)
      if (!CheckEntry(table, At(table, i))) return false;
  }
  return true;
}

bool BatchWalk::CheckEntry(TableNumber table, std::string_view entry) const {
  const auto all_in = [&](const WireField& field, TableNumber other) {
    return EachNumber(field, [&](uint64_t index) { return Inside(other, index); });
  };
  return EachField(entry, [&](const WireField& field) {
    const uint32_t number = field.number;
    switch (table) {
      case kMappings:
        return number == 4 ? all_in(field, kStrings) : number != 5 || all_in(field, kAttributes);
      case kLocations:
        if (number == 1) return all_in(field, kMappings);
        if (number == 4) return all_in(field, kAttributes);
        return !IsBytes(field, 3) || EachField(field.bytes, [&](const WireField& line) {
          return line.number != 1 || all_in(line, kFunctions);
        });
      case kFunctions: return number < 1 || number > 3 || all_in(field, kStrings);
      case kAttributes:
        if (number == 1) return all_in(field, kStrings);
        return !IsBytes(field, 2) || EachField(field.bytes, [&](const WireField& value) {
          return value.number != 8 || all_in(value, kStrings);
        });
      case kStacks: return number != 1 || all_in(field, kLocations);
      default: return true;
    }
  });
}

// KeyValue: a key or its index, and a value that may be an index.
bool BatchWalk::CheckResource(std::string_view resource_profiles) const {
  return EachField(resource_profiles, [&](const WireField& resource) {
    return !IsBytes(resource, 1) || EachField(resource.bytes, [&](const WireField& attribute) {
      return !IsBytes(attribute, 1) || EachField(attribute.bytes, [&](const WireField& part) {
        if (IsNumber(part, 3)) return Inside(kStrings, part.value);
        return !IsBytes(part, 2) || EachField(part.bytes, [&](const WireField& value) {
          return !IsNumber(value, 8) || Inside(kStrings, value.value);
        });
      });
    });
  });
}

bool BatchWalk::EachProfile(std::string_view resource_profiles,
                            absl::FunctionRef<bool(std::string_view)> f) const {
  return EachField(resource_profiles, [&](const WireField& scope) {
    return !IsBytes(scope, 2) || EachField(scope.bytes, [&](const WireField& profile) {
      return !IsBytes(profile, 2) || f(profile.bytes);
    });
  });
}

bool BatchWalk::CheckProfile(std::string_view profile) {
  int64_t start = 0, duration = 0;
  TypeTimes type;
  const bool good = EachField(profile, [&](const WireField& field) {
    if (field.number == 3) start = ClampToSigned(field.value);
    if (IsNumber(field, 4)) duration = ClampToSigned(field.value);
    if (IsBytes(field, 2)) return CheckSample(field.bytes, &type.timed);
    if (field.number == 11)
      return EachNumber(field, [&](uint64_t index) { return Inside(kAttributes, index); });
    if (!IsBytes(field, 1) && !IsBytes(field, 5)) return true;
    return EachField(field.bytes, [&](const WireField& part) {
      if (field.number == 1 && IsNumber(part, 1)) type.type = part.value;
      if (field.number == 1 && IsNumber(part, 2)) type.unit = part.value;
      return part.type != WireType::kVarint || Inside(kStrings, part.value);
    });
  });
  if (!good) return false;
  const int64_t end = AddSigned(start, duration);
  start_unix_ns_ = has_time_ ? std::min(start_unix_ns_, start) : start;
  end_unix_ns_ = has_time_ ? std::max(end_unix_ns_, end) : end;
  has_time_ = true;
  const auto same = std::ranges::find_if(types_, [&](const TypeTimes& known) {
    return known.type == type.type && known.unit == type.unit;
  });
  if (same != types_.end())
    same->timed |= type.timed;
  else if (types_.size() < kMostTypes)
    types_.push_back(type);
  return true;
}

bool BatchWalk::CheckSample(std::string_view sample, bool* timed) {
  ++samples_;
  return EachField(sample, [&](const WireField& field) {
    if (IsNumber(field, 1)) return Inside(kStacks, field.value);
    if (IsNumber(field, 3)) return Inside(kLinks, field.value);
    if (field.number == 4) return EachNumber(field, [](uint64_t) { return true; });
    if (field.number == 5) return EachFixed64(field, [&](uint64_t) { return *timed = true; });
    return field.number != 2 ||
           EachNumber(field, [&](uint64_t index) { return Inside(kAttributes, index); });
  });
}

bool BatchWalk::timed() const {
  return std::ranges::all_of(types_, [](const TypeTimes& type) { return type.timed; });
}

}  // namespace stackray
