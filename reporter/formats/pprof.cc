#include "reporter/formats/pprof.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "reporter/formats/call_tree.h"
#include "reporter/formats/gzip.h"
#include "reporter/formats/text.h"
#include "reporter/formats/wire.h"

namespace stackray {
namespace {

namespace profile_fields {
constexpr uint32_t kSampleType = 1, kSample = 2, kMapping = 3, kLocation = 4, kFunction = 5,
                   kStringTable = 6, kTimeNanos = 9, kDurationNanos = 10, kPeriodType = 11,
                   kPeriod = 12;
}
namespace value_type_fields {
constexpr uint32_t kType = 1, kUnit = 2;
}
namespace sample_fields {
constexpr uint32_t kLocationIds = 1, kValues = 2, kLabel = 3;
}
namespace label_fields {
constexpr uint32_t kKey = 1, kText = 2, kNumber = 3;
}
namespace mapping_fields {
constexpr uint32_t kId = 1, kStart = 2, kLimit = 3, kOffset = 4, kFile = 5, kBuildId = 6,
                   kHasFunctions = 7, kHasFilenames = 8, kHasLineNumbers = 9, kHasInlineFrames = 10;
}
namespace location_fields {
constexpr uint32_t kId = 1, kMappingId = 2, kAddress = 3, kLine = 4;
}
namespace line_fields {
constexpr uint32_t kFunctionId = 1, kLine = 2;
}
namespace function_fields {
constexpr uint32_t kId = 1, kName = 2, kSystemName = 3, kFile = 4;
}

struct Function {
  uint32_t name = 0, system_name = 0, file = 0;
  friend bool operator==(const Function&, const Function&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Function& f) {
    return H::combine(std::move(h), f.name, f.system_name, f.file);
  }
};

// What is known of a mapping from all of its locations that are used.
struct MappingFacts {
  uint64_t lowest = UINT64_MAX, highest = 0;
  bool all_named = true, all_filenames = true, all_lines = true, any_inlined = false;
};

// The executables of all processes that have samples, by path; of one whose executable is not known its command.
class Programs {
 public:
  Programs(const ProfileView& view, const std::vector<ViewRow>& rows) {
    std::vector<bool> used(view.processes().size());
    for (const ViewRow& row : rows) used[view.threads()[row.thread].process] = true;
    for (uint32_t id = 0; id < used.size(); ++id) {
      const ViewProcess& process = view.processes()[id];
      if (!used[id] || (process.pid == 0 && process.command == 0))
        continue;  // The host's lost ones.
      const std::string command = view.ProcessName(id);
      names_.insert(process.executable != 0
                        ? std::string(view.Text(process.executable))
                        : command.substr(0, command.find('/')));  // "kworker/0:1"
    }
    host_ = view.host_name().empty() ? "host" : view.host_name();
  }

  bool has_one() const { return names_.size() == 1; }
  // The only one's path, or what they are together.
  std::string Title() const {
    if (has_one()) return *names_.begin();
    return Concat(host_, " (", names_.size(), " programs)");
  }

 private:
  std::set<std::string> names_;
  std::string host_;
};

class PprofWriter {
 public:
  explicit PprofWriter(const ProfileView& view)
      : view_(view), rows_(view.TotalRows()), programs_(view, rows_) {
    if (view.period_ns() >= 1) period_ns_ = std::llround(std::min(view.period_ns(), 1e15));
  }

  std::string Write() {
    AddValueType(profile_fields::kSampleType, "samples", "count");
    if (period_ns_ > 0) AddValueType(profile_fields::kSampleType, "cpu", "nanoseconds");
    for (const ViewRow& row : rows_) AddSample(row);
    AddMappings();
    for (const uint32_t id : locations_) AddLocation(id);
    for (uint32_t id = 1; id < functions_.items().size(); ++id) AddFunction(id);
    out_.AddNumber(profile_fields::kTimeNanos, static_cast<uint64_t>(view_.start_unix_ns()));
    out_.AddNumber(profile_fields::kDurationNanos,
                   static_cast<uint64_t>(view_.end_unix_ns() - view_.start_unix_ns()));
    if (period_ns_ > 0) {
      AddValueType(profile_fields::kPeriodType, "cpu", "nanoseconds");
      out_.AddNumber(profile_fields::kPeriod, static_cast<uint64_t>(period_ns_));
    }
    for (uint32_t id = 0; id < strings_.size(); ++id) {
      out_.AddBytes(profile_fields::kStringTable, strings_[id]);
    }
    return out_.bytes();
  }

 private:
  // `go tool pprof` prints names as they are.
  uint32_t Text(std::string_view text) { return strings_.Intern(PrintableText(text), true); }

  void AddValueType(uint32_t field, std::string_view type, std::string_view unit) {
    WireWriter value_type;
    value_type.AddNumber(value_type_fields::kType, Text(type));
    value_type.AddNumber(value_type_fields::kUnit, Text(unit));
    out_.AddBytes(field, value_type.bytes());
  }

  void AddSample(const ViewRow& row) {
    WireWriter packed;
    for (uint32_t node = row.node; node != ProfileView::kRoot; node = view_.nodes()[node].parent) {
      packed.AppendVarint(LocationId(view_.nodes()[node].location));
    }
    WireWriter sample;
    if (!packed.bytes().empty()) sample.AddBytes(sample_fields::kLocationIds, packed.bytes());
    packed.Clear();
    packed.AppendVarint(static_cast<uint64_t>(row.count));
    if (period_ns_ > 0) packed.AppendVarint(static_cast<uint64_t>(Nanoseconds(row.count)));
    sample.AddBytes(sample_fields::kValues, packed.bytes());
    AddLabels(view_.threads()[row.thread], &sample);
    out_.AddBytes(profile_fields::kSample, sample.bytes());
  }

  int64_t Nanoseconds(int64_t count) const {
    return count > INT64_MAX / period_ns_ ? INT64_MAX : count * period_ns_;
  }

  void AddLabels(const ViewThread& thread, WireWriter* sample) {
    const ViewProcess& process = view_.processes()[thread.process];
    AddLabel("process", view_.ProcessName(thread.process), 0, sample);
    if (process.pid != 0) AddLabel("pid", "", process.pid, sample);
    if (thread.tid != 0) AddLabel("tid", "", thread.tid, sample);
    if (thread.name != 0) AddLabel("thread", view_.Text(thread.name), 0, sample);
    if (process.container != 0) AddLabel("container", view_.Text(process.container), 0, sample);
  }

  void AddLabel(std::string_view key, std::string_view text, int64_t number, WireWriter* sample) {
    WireWriter label;
    label.AddNumber(label_fields::kKey, Text(key));
    label.AddNumber(label_fields::kText, Text(text));
    label.AddNumber(label_fields::kNumber, static_cast<uint64_t>(number));
    sample->AddBytes(sample_fields::kLabel, label.bytes());
  }

  // Numbers of this file: 1 for the first location that is used, and so on.
  uint64_t LocationId(uint32_t location) {
    const auto [found, fresh] = location_ids_.try_emplace(location, locations_.size() + 1);
    if (fresh) {
      locations_.push_back(location);
      LearnMapping(view_.locations()[location]);
    }
    return found->second;
  }

  void LearnMapping(const ViewLocation& location) {
    if (location.mapping == 0) return;
    MappingFacts& facts = mappings_[location.mapping];
    facts.lowest = std::min(facts.lowest, location.address);
    facts.highest = std::max(facts.highest, location.address);
    if (location.first_line == 0) facts.all_named = false;
    for (uint32_t id = location.first_line; id != 0; id = view_.lines()[id].next) {
      const ViewLine& line = view_.lines()[id];
      if (line.file == 0) facts.all_filenames = false;
      if (line.line <= 0) facts.all_lines = false;
      if (line.next != 0) facts.any_inlined = true;
    }
  }

  // The main program's comes first: pprof titles the profile by it.
  void AddMappings() {
    const std::string title = programs_.Title();
    const auto is_main = [&](const auto& entry) {
      return programs_.has_one() && view_.Text(view_.mappings()[entry.first].path) == title;
    };
    const auto main = std::find_if(mappings_.begin(), mappings_.end(), is_main);
    if (main != mappings_.end())
      AddMapping(main->first, main->second);
    else
      AddTitle(title);
    for (auto entry = mappings_.begin(); entry != mappings_.end(); ++entry)
      if (entry != main) AddMapping(entry->first, entry->second);
  }

  // A mapping that no location is in. Marked as if it had all names, so that nobody looks for such a file.
  void AddTitle(std::string_view title) {
    WireWriter mapping;
    mapping.AddNumber(mapping_fields::kId, view_.mappings().size());
    mapping.AddNumber(mapping_fields::kFile, Text(title));
    for (const uint32_t field : {mapping_fields::kHasFunctions, mapping_fields::kHasFilenames,
                                 mapping_fields::kHasLineNumbers, mapping_fields::kHasInlineFrames})
      mapping.AddNumber(field, 1);
    out_.AddBytes(profile_fields::kMapping, mapping.bytes());
  }

  void AddMapping(uint32_t id, const MappingFacts& facts) {
    constexpr uint64_t kPage = 4096;
    const ViewMapping& item = view_.mappings()[id];
    WireWriter mapping;
    mapping.AddNumber(mapping_fields::kId, id);
    mapping.AddNumber(mapping_fields::kStart, facts.lowest & ~(kPage - 1));
    mapping.AddNumber(mapping_fields::kLimit, facts.highest >= UINT64_MAX - kPage
                                                  ? UINT64_MAX
                                                  : (facts.highest | (kPage - 1)) + 1);
    mapping.AddNumber(mapping_fields::kFile, Text(view_.Text(item.path)));
    mapping.AddNumber(mapping_fields::kBuildId, Text(view_.Text(item.build_id)));
    const bool named = facts.all_named;
    mapping.AddNumber(mapping_fields::kHasFunctions, named);
    mapping.AddNumber(mapping_fields::kHasFilenames, named && facts.all_filenames);
    mapping.AddNumber(mapping_fields::kHasLineNumbers, named && facts.all_lines);
    mapping.AddNumber(mapping_fields::kHasInlineFrames, named && facts.any_inlined);
    out_.AddBytes(profile_fields::kMapping, mapping.bytes());
  }

  void AddLocation(uint32_t id) {
    const ViewLocation& item = view_.locations()[id];
    WireWriter location;
    location.AddNumber(location_fields::kId, location_ids_[id]);
    location.AddNumber(location_fields::kMappingId, item.mapping);
    location.AddNumber(location_fields::kAddress, item.address);
    for (uint32_t line = item.first_line; line != 0; line = view_.lines()[line].next) {
      AddLine(view_.lines()[line], &location);
    }
    // pprof shows a location without name and mapping as nothing at all, and one without a name by its address.
    if (item.first_line == 0 && (item.mapping == 0 || item.function_start))
      AddNamelessLine(item, &location);
    out_.AddBytes(profile_fields::kLocation, location.bytes());
  }

  void AddLine(const ViewLine& item, WireWriter* location) {
    const std::string_view system_name = view_.Text(item.system_name);
    const std::string_view function = view_.Text(item.function);
    const std::string_view name = !function.empty() ? function : system_name;
    AddLineOf({Text(name.empty() ? "[unknown]" : name),
               Text(system_name.empty() ? name : system_name), Text(view_.Text(item.file))},
              item.line, location);
  }

  // The mapping stays one whose functions have to be looked for.
  void AddNamelessLine(const ViewLocation& item, WireWriter* location) {
    if (!item.function_start) return AddLine({}, location);
    const std::string name = AddressName(view_.Text(view_.mappings()[item.mapping].path),
                                         item.address, item.function_start);
    AddLineOf({Text(name), Text(name), 0}, 0, location);
  }

  void AddLineOf(const Function& function, int64_t number, WireWriter* location) {
    WireWriter line;
    line.AddNumber(line_fields::kFunctionId, functions_.Intern(function, true));
    line.AddNumber(line_fields::kLine, static_cast<uint64_t>(std::max<int64_t>(number, 0)));
    location->AddBytes(location_fields::kLine, line.bytes());
  }

  void AddFunction(uint32_t id) {
    WireWriter function;
    function.AddNumber(function_fields::kId, id);
    function.AddNumber(function_fields::kName, functions_[id].name);
    function.AddNumber(function_fields::kSystemName, functions_[id].system_name);
    function.AddNumber(function_fields::kFile, functions_[id].file);
    out_.AddBytes(profile_fields::kFunction, function.bytes());
  }

  const ProfileView& view_;
  std::vector<ViewRow> rows_;
  const Programs programs_;
  int64_t period_ns_ = 0;
  WireWriter out_;
  StringTable strings_;
  std::vector<uint32_t> locations_;  // The view's ids, in order of first use.
  absl::flat_hash_map<uint32_t, uint64_t> location_ids_;
  std::map<uint32_t, MappingFacts> mappings_;  // By the view's ids.
  InternTable<Function> functions_;
};

}  // namespace

std::string PprofBytes(const ProfileView& view) { return PprofWriter(view).Write(); }

absl::StatusOr<std::string> PprofGzip(const ProfileView& view) {
  return GzipCompress(PprofBytes(view));
}

}  // namespace stackray
