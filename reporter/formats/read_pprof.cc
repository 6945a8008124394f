// Profile {1 sample_type, 2 sample, 3 mapping, 4 location, 5 function, 6 string_table,
// 9 time_nanos, 10 duration_nanos}, ValueType {1 type, 2 unit}, Sample {1 location_id, 2 value},
// Mapping {1 id, 5 filename}, Location {1 id, 2 mapping_id, 3 address, 4 line},
// Line {1 function_id, 2 line}, Function {1 id, 2 name, 4 filename}: pprof's profile.proto.
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "reporter/formats/foreign_batch.h"
#include "reporter/formats/foreign_formats.h"
#include "reporter/formats/gzip.h"
#include "reporter/wire/reader.h"

namespace stackray {
namespace {

constexpr size_t kMostExpandedBytes = size_t{1} << 30;
constexpr size_t kMostTypes = 16, kMostFrames = 10'000, kMostLines = 1000;

struct PprofLine {
  uint64_t function = 0;
  int64_t line = 0;
};
struct PprofLocation {
  uint64_t mapping = 0, address = 0;
  std::vector<PprofLine> lines;
};
struct PprofFunction {
  uint64_t name = 0, file = 0;
};

class PprofReader {
 public:
  explicit PprofReader(std::string_view name) : batch_(name) {}

  absl::StatusOr<std::string> Read(std::string_view bytes) {
    const auto damaged = [] { return absl::DataLossError("it is no pprof profile, or damaged"); };
    if (!EachField(bytes, [this](const WireField& field) { return TakeTable(field); }))
      return damaged();
    if (types_.empty() || texts_.empty()) return damaged();
    for (const auto& [type, unit] : types_) batch_.AddType(Text(type), Text(unit));
    for (const std::string_view sample : samples_)
      if (!TakeSample(sample)) return damaged();
    return batch_.Finish(time_ns_, duration_ns_);
  }

 private:
  // Samples wait until all tables are there.
  bool TakeTable(const WireField& field) {
    switch (field.number) {
      case 1: return TakeType(field.bytes);
      case 2: samples_.push_back(field.bytes); return true;
      case 3: return TakeMapping(field.bytes);
      case 4: return TakeLocation(field.bytes);
      case 5: return TakeFunction(field.bytes);
      case 6: texts_.push_back(field.bytes); return true;
      case 9: time_ns_ = static_cast<int64_t>(field.value); return true;
      case 10: duration_ns_ = static_cast<int64_t>(field.value); return true;
      default: return true;
    }
  }

  bool TakeType(std::string_view message) {
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

  bool TakeMapping(std::string_view message) {
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

  static bool ReadLine(std::string_view message, PprofLine* line) {
    return EachField(message, [&](const WireField& field) {
      if (field.number == 1) line->function = field.value;
      if (field.number == 2) line->line = static_cast<int64_t>(field.value);
      return true;
    });
  }

  bool TakeLocation(std::string_view message) {
    uint64_t id = 0;
    PprofLocation location;
    if (!EachField(message, [&](const WireField& field) {
          if (field.number == 1) id = field.value;
          if (field.number == 2) location.mapping = field.value;
          if (field.number == 3) location.address = field.value;
          if (field.number != 4) return true;
          return location.lines.size() < kMostLines &&
                 ReadLine(field.bytes, &location.lines.emplace_back());
        }))
      return false;
    locations_[id] = std::move(location);
    return true;
  }

  bool TakeFunction(std::string_view message) {
    uint64_t id = 0;
    PprofFunction function;
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

  // Of a field that is packed or not. False: damaged, or too many.
  static bool TakeNumbers(const WireField& field, size_t most, std::vector<uint64_t>* numbers) {
    if (field.type != WireType::kBytes) {
      numbers->push_back(field.value);
      return numbers->size() <= most;
    }
    for (WireReader reader(field.bytes); !reader.done();) {
      uint64_t number = 0;
      if (numbers->size() >= most || !reader.Varint(&number)) return false;
      numbers->push_back(number);
    }
    return true;
  }

  bool TakeSample(std::string_view message) {
    std::vector<uint64_t> locations, values;
    if (!EachField(message, [&](const WireField& field) {
          if (field.number == 1) return TakeNumbers(field, kMostFrames, &locations);
          if (field.number == 2) return TakeNumbers(field, kMostTypes, &values);
          return true;
        }))
      return false;
    std::vector<int32_t> frames;
    frames.reserve(locations.size());
    for (const uint64_t id : locations) frames.push_back(Frame(id));
    const int32_t stack = batch_.Stack(frames);
    for (size_t i = 0; i < values.size() && i < types_.size(); ++i)
      batch_.AddSample(i, stack, static_cast<int64_t>(values[i]));
    return true;
  }

  int32_t Frame(uint64_t id) {
    const auto made = frames_.find(id);
    if (made != frames_.end()) return made->second;
    const auto found = locations_.find(id);
    const PprofLocation location = found == locations_.end() ? PprofLocation() : found->second;
    std::vector<ForeignLine> lines;
    for (const PprofLine& line : location.lines) {
      const auto function = functions_.find(line.function);
      if (function == functions_.end()) continue;
      lines.push_back({.function = Text(function->second.name),
                       .file = Text(function->second.file),
                       .line = line.line});
    }
    const auto mapping = mappings_.find(location.mapping);
    const std::string_view file = mapping == mappings_.end() ? "" : Text(mapping->second);
    return frames_[id] = batch_.Frame("", file, location.address, lines);
  }

  std::string_view Text(uint64_t index) const {
    return index < texts_.size() ? texts_[index] : std::string_view();
  }

  ForeignBatch batch_;
  std::vector<std::string_view> texts_, samples_;
  std::vector<std::pair<uint64_t, uint64_t>> types_;  // Texts.
  absl::flat_hash_map<uint64_t, uint64_t> mappings_;
  absl::flat_hash_map<uint64_t, PprofLocation> locations_;
  absl::flat_hash_map<uint64_t, PprofFunction> functions_;
  absl::flat_hash_map<uint64_t, int32_t> frames_;
  int64_t time_ns_ = 0, duration_ns_ = 0;
};

}  // namespace

absl::StatusOr<std::string> BatchOfPprof(std::string_view bytes, std::string_view name) {
  if (!bytes.starts_with("\x1f\x8b")) return PprofReader(name).Read(bytes);
  const absl::StatusOr<std::string> expanded = GzipExpand(bytes, kMostExpandedBytes);
  return expanded.ok() ? PprofReader(name).Read(*expanded) : expanded.status();
}

}  // namespace stackray
