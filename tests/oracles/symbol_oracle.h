// The symbols of a file as readelf prints them, asked in the plainest possible way.
#ifndef STACKRAY_TESTS_ORACLES_SYMBOL_ORACLE_H_
#define STACKRAY_TESTS_ORACLES_SYMBOL_ORACLE_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/symbolizer/oracle.h"

namespace stackray::test {

struct OracleSymbol {
  uint64_t start = 0, size = 0;
  std::string name;
};

struct OracleSymbols {
  std::vector<OracleSymbol> symbols;                    // Of code, sized ones and labels, by start.
  std::vector<std::pair<uint64_t, uint64_t>> sections;  // Executable: start and end.
  uint64_t largest = 0;                                 // Size of the largest symbol.

  // Names of the sized symbols that cover the address and start last.
  std::set<std::string> Covering(uint64_t address) const {
    std::set<std::string> names;
    uint64_t start = 0;
    auto symbol = std::upper_bound(symbols.begin(), symbols.end(), address,
                                   [](uint64_t a, const OracleSymbol& s) { return a < s.start; });
    while (symbol != symbols.begin()) {
      --symbol;
      if (address - symbol->start >= largest || (!names.empty() && symbol->start != start)) break;
      if (address - symbol->start >= symbol->size) continue;
      start = symbol->start;
      names.insert(symbol->name);
    }
    return names;
  }
  // Names of the labels right before the address that may reach it.
  std::set<std::string> Labels(uint64_t address) const {
    std::set<std::string> names;
    auto symbol = std::upper_bound(symbols.begin(), symbols.end(), address,
                                   [](uint64_t a, const OracleSymbol& s) { return a < s.start; });
    const uint64_t start = symbol == symbols.begin() ? 0 : std::prev(symbol)->start;
    while (symbol != symbols.begin() && (--symbol)->start == start)
      if (symbol->size == 0 && address - symbol->start < 4096) names.insert(symbol->name);
    return names;
  }
};

inline OracleSymbols ReadOracle(const std::string& path) {
  OracleSymbols oracle;
  std::map<std::string, std::pair<uint64_t, uint64_t>> executable;  // By readelf's section number.
  for (const std::string& line : RunLines("readelf -SW '" + path + "'")) {
    const size_t open = line.find('['), close = line.find(']');
    if (open == std::string::npos || close == std::string::npos) continue;
    std::istringstream fields(line.substr(close + 1));
    std::string name, type, address, offset, size, entry, flags;
    fields >> name >> type >> address >> offset >> size >> entry >> flags;
    if (flags.find('X') == std::string::npos || flags.find('A') == std::string::npos) continue;
    std::string number = line.substr(open + 1, close - open - 1);
    number.erase(0, number.find_first_not_of(' '));
    const uint64_t start = std::stoull(address, nullptr, 16);
    executable[number] = {start, start + std::stoull(size, nullptr, 16)};
    oracle.sections.push_back(executable[number]);
  }
  for (const std::string& line : RunLines("readelf -sW '" + path + "'")) {
    std::istringstream fields(line);
    std::string number, value, size, type, binding, visibility, section, name;
    fields >> number >> value >> size >> type >> binding >> visibility >> section;
    if (!section.empty() && section[0] == '[') fields >> section;  // "[VARIANT_PCS]".
    if (number.empty() || number.back() != ':' || !executable.contains(section)) continue;
    if (type != "FUNC" && type != "NOTYPE" && type != "IFUNC") continue;
    std::getline(fields >> std::ws, name);
    name = name.substr(0, name.find('@', 1));
    OracleSymbol symbol{std::stoull(value, nullptr, 16), std::stoull(size, nullptr, 0), name};
    const auto [start, end] = executable[section];
    if (name.empty() || symbol.start < start || symbol.start >= end) continue;
    symbol.size = std::min(symbol.size, end - symbol.start);
    oracle.largest = std::max(oracle.largest, symbol.size);
    oracle.symbols.push_back(std::move(symbol));
  }
  std::stable_sort(oracle.symbols.begin(), oracle.symbols.end(),
                   [](const auto& a, const auto& b) { return a.start < b.start; });
  return oracle;
}

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_ORACLES_SYMBOL_ORACLE_H_
