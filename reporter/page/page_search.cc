#include "reporter/page/page_search.h"

#include <re2/re2.h>

#include <string>

#include "reporter/formats/text.h"
#include "reporter/page/page_keys.h"

namespace stackray {
namespace {

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\n\r");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\n\r") - first + 1);
}

re2::StringPiece Piece(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

absl::StatusOr<std::vector<bool>> MatchingFunctions(const PageTables& tables,
                                                    std::string_view query) {
  query = Trimmed(query);
  if (query.empty()) return std::vector<bool>();
  const bool is_expression = query.size() > 2 && query.front() == '/' && query.back() == '/';
  RE2::Options options;
  options.set_case_sensitive(false);
  options.set_log_errors(false);
  options.set_max_mem(1 << 20);
  const std::string pattern =
      is_expression ? std::string(query.substr(1, query.size() - 2)) : RE2::QuoteMeta(Piece(query));
  const RE2 expression(pattern, options);
  if (!expression.ok())
    return absl::InvalidArgumentError(Concat("no valid expression: ", expression.error()));
  // Of a name and of a file alike, so each text is looked at once.
  std::vector<uint8_t> known(tables.strings.size());
  const auto matches = [&](uint32_t id) {
    if (known[id] == 0)
      known[id] = RE2::PartialMatch(Piece(tables.strings[id]), expression) ? 1 : 2;
    return known[id] == 1;
  };
  std::vector<bool> out;
  for (const PageFunction& function : tables.functions.items())
    out.push_back(matches(function.name) || matches(function.file));
  return out;
}

}  // namespace stackray
