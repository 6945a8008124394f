// Go programs, built on the spot, that say what Go's runtime knows of their code; and what GoTable
// says of the same.
#ifndef STACKRAY_TESTS_SYMBOLIZER_GO_GO_ORACLE_H_
#define STACKRAY_TESTS_SYMBOLIZER_GO_GO_ORACLE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "symbolizer/elf_image.h"
#include "symbolizer/go/go_table.h"
#include "tests/symbolizer/oracle.h"

namespace stackray::test {

// One function of a stack: of the file, as the program says it.
struct GoFrame {
  uint64_t address = 0;
  std::string function, file;
  int64_t line = 0;
};

// Each innermost function first.
using GoStacks = std::vector<std::vector<GoFrame>>;

class GoProgram {
 public:
  // Built of programs/ with `arguments` by the Go of that version ("": the one that is installed).
  // nullptr: it cannot be built here.
  static std::unique_ptr<GoProgram> Build(const std::string& version, const std::string& arguments);

  const std::string& path() const { return path_; }
  // The program's own answers: functions at random addresses, and whole stacks.
  GoStacks Places(size_t count) const;
  GoStacks Stacks() const;
  // What `go tool addr2line` says: the function that the code belongs to, file and line of the
  // innermost.
  std::vector<GoFrame> AddressToLine(const GoStacks& places) const;
  // Takes the section headers out of the file.
  void DropSections() const;

 private:
  GoStacks Ask(const std::string& arguments) const;
  TemporaryDirectory directory_;
  std::string path_, go_;
  uint64_t first_address_ = 0, text_begin_ = 0, text_end_ = 0;
};

// The table of a file, and the file held open for it.
struct OpenedGoTable {
  OpenedFile file;
  GoTable table;
};
std::unique_ptr<OpenedGoTable> OpenGoTable(const std::string& path);

struct GoComparison {
  size_t asked = 0, differ = 0,
         inlined = 0;  // Addresses; those of which more than one function was said.
  std::string examples;
};
// All functions at every place (only the innermost where the program says no more); and the one
// that the code belongs to against `outermost`, unless that is empty.
GoComparison ComparePlaces(const OpenedGoTable& table, const GoStacks& places,
                           const std::vector<GoFrame>& outermost);
// Every stack, frame by frame.
GoComparison CompareStacks(const OpenedGoTable& table, const GoStacks& stacks);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_SYMBOLIZER_GO_GO_ORACLE_H_
