// What other programs say about a file's call frame information.
#ifndef STACKRAY_TESTS_SYMBOLIZER_CFI_FRAME_ORACLE_H_
#define STACKRAY_TESTS_SYMBOLIZER_CFI_FRAME_ORACLE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace stackray {

struct OracleRow {
  uint64_t address = 0;
  std::string cfa, rbp, ra,
      rsp;  // On arm64 x29's and sp's. In the program's own words; empty: no column.
};

struct OracleEntry {
  uint64_t begin = 0, end = 0;
  bool readable = true;  // False: the program could not make rows of it.
  std::vector<OracleRow> rows;
};

class FrameOracle {
 public:
  // Entries that overlap none of the wanted addresses may be left out. nullopt: the program is not
  // installed or failed.
  using Wanted = std::function<bool(uint64_t begin, uint64_t end)>;
  static std::optional<FrameOracle> FromReadelf(const std::string& path, const Wanted& wanted);
  static std::optional<FrameOracle> FromLlvmDwarfdump(const std::string& path,
                                                      const Wanted& wanted);

  // Ascending by begin, without empty ones.
  const std::vector<OracleEntry>& entries() const { return entries_; }
  // The entry that begins last at or below `address` and covers it.
  const OracleEntry* EntryAt(uint64_t address) const;
  static const OracleRow* RowAt(const OracleEntry& entry, uint64_t address);

 private:
  void Finish();
  std::vector<OracleEntry> entries_;
};

bool ProgramExists(const std::string& name);

}  // namespace stackray

#endif  // STACKRAY_TESTS_SYMBOLIZER_CFI_FRAME_ORACLE_H_
