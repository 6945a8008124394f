// What readelf says about the frames of a stack: their names, and where a program starts.
#ifndef STACKRAY_TESTS_ORACLES_STACK_ORACLE_H_
#define STACKRAY_TESTS_ORACLES_STACK_ORACLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/oracles/symbol_oracle.h"
#include "tests/reporter/decoded_batch.h"

namespace stackray::test {

// Memory: the symbols of every file that was asked for.
class StackOracle {
 public:
  // Empty when the frame's name is one of those that readelf has for its address, or neither has
  // one; else what differs. readelf names no stub of a PLT: there the name must be NAME@plt.
  std::string Disagreement(const DecodedFrame& frame);
  // The frame lies in the function at the file's entry point (which gcc's crt1 calls _start).
  bool IsProgramStart(const DecodedFrame& frame);

  uint64_t named() const { return named_; }
  uint64_t unnamed() const { return unnamed_; }

 private:
  struct File {
    OracleSymbols symbols;
    uint64_t entry = 0;
    std::vector<std::pair<uint64_t, uint64_t>> stubs;  // .plt and its kin: first address, size.
  };
  static bool IsStub(const File& file, uint64_t address);
  const File& FileOf(const std::string& path);

  std::map<std::string, File> files_;
  uint64_t named_ = 0, unnamed_ = 0;  // Frames that agreed.
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_ORACLES_STACK_ORACLE_H_
