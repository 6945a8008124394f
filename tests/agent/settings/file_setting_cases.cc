#include "tests/agent/settings/setting_cases.h"

namespace stackray {
namespace {

std::string Group(const CommandLine& line) {
  const auto* convert = std::get_if<ConvertSettings>(&line.verb);
  return convert != nullptr ? convert->group_by : std::get<RecordSettings>(line.verb).group_by;
}

}  // namespace

std::string FilterText(const CommandLine& line) {
  if (const auto* check = std::get_if<CheckSettings>(&line.verb)) return check->filter.Text();
  if (const auto* view = std::get_if<ViewSettings>(&line.verb)) return view->filter.Text();
  return std::get<ConvertSettings>(line.verb).filter.Text();
}

std::map<std::string_view, Case> FileCases() {
  return {
      {"trace",
       {"",
        "",
        {"0af7651916cd43dd8448eb211c80319c", "trace_id=0af7651916cd43dd8448eb211c80319c"},
        {"0AF7651916CD43DD8448EB211C80319D", "trace_id=0af7651916cd43dd8448eb211c80319d"},
        {"00000000000000000000000000000001", "trace_id=00000000000000000000000000000001"},
        "00000000000000000000000000000000",
        FilterText}},
      {"span",
       {"",
        "",
        {"b7ad6b7169203331", "span_id=b7ad6b7169203331"},
        {"B7AD6B7169203332", "span_id=b7ad6b7169203332"},
        {"0000000000000001", "span_id=0000000000000001"},
        "b7ad6b716920333",
        FilterText}},
      {"group-by",
       {"",
        "",
        {"trace", "trace"},
        {"label:http.route", "label:http.route"},
        {"user", "user"},
        "label:",
        Group}},
  };
}

}  // namespace stackray
