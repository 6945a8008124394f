// pprof's tables may stand behind the samples that need them. So the bytes are expanded twice, and
// neither time kept.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "reporter/formats/foreign_batch.h"
#include "reporter/formats/foreign_formats.h"
#include "reporter/formats/gzip.h"
#include "reporter/formats/pprof_tables.h"
#include "reporter/wire/reader.h"

namespace stackray {
namespace {

constexpr size_t kMostFrames = 10'000, kMostVarintBytes = 10;
constexpr size_t kMostLines = 2 * kMostFrames;  // Of a sample's new frames, inlined ones included.
constexpr uint32_t kSample = 2;                 // Sample {1 location_id, 2 value}.

absl::Status Damaged() { return absl::DataLossError("it is no pprof profile, or damaged"); }

// A message's fields, of bytes that come in parts. Memory: a part and a field.
class FieldStream {
 public:
  using Take = absl::FunctionRef<absl::Status(const WireField& field)>;

  absl::Status Add(std::string_view part, Take take) {
    held_ += part;
    std::string_view rest = held_;
    while (!rest.empty()) {
      const size_t length = LengthOf(rest);
      if (length > kMostPprofField)
        return absl::ResourceExhaustedError(
            fmt::format("it has a field of more than {} MiB", kMostPprofField >> 20));
      if (length > rest.size() || length == 0) break;
      WireReader reader(rest.substr(0, length));
      WireField field;
      if (!reader.Next(&field)) return Damaged();
      if (absl::Status status = take(field); !status.ok()) return status;
      rest.remove_prefix(length);
    }
    held_.erase(0, held_.size() - rest.size());
    return absl::OkStatus();
  }
  bool whole() const { return held_.empty(); }

 private:
  // Of the first field; 0: its begin has not come. What is no field has the length of its begin.
  static size_t LengthOf(std::string_view bytes) {
    WireReader reader(bytes);
    uint64_t tag = 0, length = 0;
    if (!reader.Varint(&tag)) return bytes.size() < kMostVarintBytes ? 0 : kMostVarintBytes;
    size_t tag_bytes = VarintLength(bytes);
    switch (static_cast<WireType>(tag & 7)) {
      case WireType::kFixed64: return tag_bytes + 8;
      case WireType::kFixed32: return tag_bytes + 4;
      case WireType::kVarint:
      case WireType::kBytes: break;
      default: return tag_bytes;
    }
    const std::string_view behind = bytes.substr(tag_bytes);
    if (!reader.Varint(&length))
      return behind.size() < kMostVarintBytes ? 0 : tag_bytes + kMostVarintBytes;
    tag_bytes += VarintLength(behind);
    if (static_cast<WireType>(tag & 7) == WireType::kVarint) return tag_bytes;
    return length > kMostPprofField ? kMostPprofField + 1 : tag_bytes + length;
  }
  static size_t VarintLength(std::string_view bytes) {
    size_t length = 1;
    while (length < bytes.size() && (bytes[length - 1] & 0x80) != 0) ++length;
    return length;
  }

  std::string held_;
};

absl::Status EachFieldOf(std::string_view bytes, FieldStream::Take take) {
  FieldStream stream;
  const auto add = [&](std::string_view part) { return stream.Add(part, take); };
  absl::Status status;
  if (bytes.starts_with("\x1f\x8b")) {
    status = GzipExpandParts(bytes, kMostPprofExpanded, add);
  } else {
    constexpr size_t kPartBytes = 64 << 10;
    for (; status.ok() && !bytes.empty(); bytes.remove_prefix(std::min(kPartBytes, bytes.size())))
      status = add(bytes.substr(0, kPartBytes));
  }
  if (!status.ok()) return status;
  return stream.whole() ? absl::OkStatus() : Damaged();
}

class SampleReader {
 public:
  SampleReader(const PprofTables& tables, std::string_view name, ForeignBatchSink sink)
      : tables_(tables), name_(name), sink_(sink) {}

  absl::Status Take(std::string_view message) {
    Begin();
    if (!AddSample(message)) return Damaged();
    return batch_->full() ? Flush() : absl::OkStatus();
  }

  // Of a profile without samples as well: its types are said.
  absl::Status Finish() {
    if (!flushed_) Begin();
    return batch_ ? Flush() : absl::OkStatus();
  }

 private:
  void Begin() {
    if (batch_) return;
    batch_.emplace(name_);
    for (const auto& [type, unit] : tables_.types())
      batch_->AddType(tables_.Text(type), tables_.Text(unit));
  }

  absl::Status Flush() {
    const std::string bytes = batch_->Finish(tables_.time_ns(), tables_.duration_ns());
    batch_.reset();
    frames_.clear();
    flushed_ = true;
    return sink_(bytes);
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

  bool AddSample(std::string_view message) {
    std::vector<uint64_t> locations, values;
    if (!EachField(message, [&](const WireField& field) {
          if (field.number == 1) return TakeNumbers(field, kMostFrames, &locations);
          if (field.number == 2) return TakeNumbers(field, PprofTables::kMostTypes, &values);
          return true;
        }))
      return false;
    std::vector<int32_t> frames;
    frames.reserve(locations.size());
    lines_ = 0;
    for (const uint64_t id : locations) {
      frames.push_back(Frame(id));
      if (lines_ > kMostLines) return false;
    }
    const int32_t stack = batch_->Stack(frames);
    for (size_t i = 0; i < values.size() && i < tables_.types().size(); ++i)
      batch_->AddSample(i, stack, static_cast<int64_t>(values[i]));
    return true;
  }

  int32_t Frame(uint64_t id) {
    const auto made = frames_.find(id);
    if (made != frames_.end()) return made->second;
    const PprofTables::Location* const location = tables_.FindLocation(id);
    if (location == nullptr) return frames_[id] = batch_->Frame("", "", 0, {});
    std::vector<ForeignLine> lines;
    for (const PprofTables::Line& line : location->lines) {
      const PprofTables::Function* const function = tables_.FindFunction(line.function);
      if (function == nullptr) continue;
      lines.push_back({.function = tables_.Text(function->name),
                       .file = tables_.Text(function->file),
                       .line = line.line});
    }
    lines_ += lines.size();
    return frames_[id] =
               batch_->Frame("", tables_.MappingFile(location->mapping), location->address, lines);
  }

  const PprofTables& tables_;
  const std::string_view name_;
  const ForeignBatchSink sink_;
  std::optional<ForeignBatch> batch_;
  absl::flat_hash_map<uint64_t, int32_t> frames_;  // Of this batch, by location.
  size_t lines_ = 0;                               // Of this sample.
  bool flushed_ = false;
};

}  // namespace

absl::Status BatchesOfPprof(std::string_view bytes, std::string_view name, ForeignBatchSink sink) {
  PprofTables tables(kSmallTables + 2 * bytes.size());
  absl::Status status = EachFieldOf(bytes, [&](const WireField& field) {
    return field.number == kSample ? absl::OkStatus() : tables.Take(field);
  });
  if (!status.ok()) return status;
  if (tables.types().empty() || tables.texts() == 0) return Damaged();
  SampleReader samples(tables, name, sink);
  status = EachFieldOf(bytes, [&](const WireField& field) {
    return field.number == kSample ? samples.Take(field.bytes) : absl::OkStatus();
  });
  return status.ok() ? samples.Finish() : status;
}

}  // namespace stackray
