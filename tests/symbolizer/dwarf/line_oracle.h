// Functions and source lines as llvm-symbolizer finds them, to compare DebugFile with.
#ifndef STACKRAY_TESTS_SYMBOLIZER_DWARF_LINE_ORACLE_H_
#define STACKRAY_TESTS_SYMBOLIZER_DWARF_LINE_ORACLE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profile/frame.h"
#include "symbolizer/dwarf/debug_file.h"

namespace stackray::test {

// Related files are looked for from the directory of `file`, as a path leads there.
dwarf::DebugFileSettings SettingsFor(const std::string& file);

// Innermost first; functions are mangled. A frame without a function has "".
struct OracleFrame {
  std::string function, file;
  int64_t line = 0, column = 0;
};

// `count` addresses of executable sections, from a fixed seed.
std::vector<uint64_t> RandomTextAddresses(const std::string& file, size_t count);

// The newest llvm-symbolizer of this machine; no path: there is none.
struct LlvmSymbolizer {
  std::string path;
  int version = 0;
};
const LlvmSymbolizer& NewestLlvm();
// Before it a relative directory of a unit of DWARF 5, as glibc's are, stood twice in paths.
inline constexpr int kFirstGoodLlvm = 16;

// One list of frames for each address; empty when the program could not be run. `arguments` are
// llvm-symbolizer's own.
std::vector<std::vector<OracleFrame>> AskLlvm(const std::string& file,
                                              const std::vector<uint64_t>& addresses,
                                              const std::string& arguments = "");

struct Comparison {
  size_t asked = 0;  // Addresses of which the oracle knows a function with a source file.
  size_t functions_differ = 0;  // The innermost function.
  size_t stacks_differ = 0;     // Any function, file or line of the stack.
  size_t inlined = 0;           // Addresses with more than one frame.
  std::string examples;         // Of the first differences.
};

// Compares what `resolve` says. The outermost function may be called as in the symbol table,
// because the oracle prefers that.
template <typename Resolve>
Comparison Compare(const std::vector<uint64_t>& addresses,
                   const std::vector<std::vector<OracleFrame>>& expected, Resolve resolve);

std::string Describe(const std::vector<OracleFrame>& frames);
std::vector<OracleFrame> AsOracleFrames(const std::vector<SourceLine>& lines);
void CompareOne(uint64_t address, const std::vector<OracleFrame>& expected,
                const std::vector<OracleFrame>& found, Comparison* result);

template <typename Resolve>
Comparison Compare(const std::vector<uint64_t>& addresses,
                   const std::vector<std::vector<OracleFrame>>& expected, Resolve resolve) {
  Comparison result;
  for (size_t i = 0; i < addresses.size() && i < expected.size(); ++i) {
    // Line 0 alone comes from the symbol table, which names files too.
    if (expected[i].empty() || (expected[i].size() == 1 && expected[i].front().line == 0)) continue;
    CompareOne(addresses[i], expected[i], AsOracleFrames(resolve(addresses[i])), &result);
  }
  return result;
}

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_SYMBOLIZER_DWARF_LINE_ORACLE_H_
