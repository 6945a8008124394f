// What the samples of a pprof profile refer to: texts, mappings, locations, functions.
//
// Profile {1 sample_type, 2 sample, 3 mapping, 4 location, 5 function, 6 string_table,
// 9 time_nanos, 10 duration_nanos}, ValueType {1 type, 2 unit}, Mapping {1 id, 5 filename},
// Location {1 id, 2 mapping_id, 3 address, 4 line}, Line {1 function_id, 2 line},
// Function {1 id, 2 name, 4 filename}: pprof's profile.proto.
// Input:   any bytes, field by field. Memory: bytes(), at most `most_bytes`. Threads: one.
#ifndef STACKRAY_REPORTER_FORMATS_PPROF_TABLES_H_
#define STACKRAY_REPORTER_FORMATS_PPROF_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "reporter/wire/reader.h"

namespace stackray {

class PprofTables {
 public:
  static constexpr size_t kMostTypes = 16, kMostLines = 1000;

  struct Line {
    uint64_t function = 0;
    int64_t line = 0;
  };
  struct Location {
    uint64_t mapping = 0, address = 0;
    std::vector<Line> lines;  // Innermost first.
  };
  struct Function {
    uint64_t name = 0, file = 0;
  };

  explicit PprofTables(size_t most_bytes) : most_bytes_(most_bytes) {}

  // A field of the profile; samples are none of its own. Errors: DataLoss, ResourceExhausted.
  absl::Status Take(const WireField& field);

  const std::vector<std::pair<uint64_t, uint64_t>>& types() const { return types_; }  // Texts.
  size_t texts() const { return ends_.size(); }
  std::string_view Text(uint64_t index) const;  // Empty where there is none.
  const Location* FindLocation(uint64_t id) const;
  const Function* FindFunction(uint64_t id) const;
  std::string_view MappingFile(uint64_t id) const;
  int64_t time_ns() const { return time_ns_; }
  int64_t duration_ns() const { return duration_ns_; }
  size_t bytes() const;  // Estimate of the memory in use.

 private:
  bool TakeField(const WireField& field);
  bool TakeType(std::string_view message);
  bool TakeMapping(std::string_view message);
  bool TakeLocation(std::string_view message);
  bool TakeFunction(std::string_view message);

  const size_t most_bytes_;
  std::string text_;            // All, one behind the other.
  std::vector<uint32_t> ends_;  // Of each.
  std::vector<std::pair<uint64_t, uint64_t>> types_;
  absl::flat_hash_map<uint64_t, uint64_t> mappings_;
  absl::flat_hash_map<uint64_t, Location> locations_;
  absl::flat_hash_map<uint64_t, Function> functions_;
  size_t line_bytes_ = 0;
  int64_t time_ns_ = 0, duration_ns_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_REPORTER_FORMATS_PPROF_TABLES_H_
