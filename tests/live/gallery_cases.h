// The gallery's programs (tests/fixtures/native, docs/gallery.md), and where an oracle is known to
// be wrong about one of them.
#ifndef STACKRAY_TESTS_LIVE_GALLERY_CASES_H_
#define STACKRAY_TESTS_LIVE_GALLERY_CASES_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace stackray::test {

struct GalleryFrame {
  uint64_t pc = 0;  // As a debugger prints it.
  std::string name;
  bool is_return = false;      // The pc lies in executable memory, behind a call instruction.
  bool is_trampoline = false;  // It is about to return from a signal handler.
};

// One stop of a program, seen twice.
struct GalleryStop {
  std::vector<GalleryFrame> ours, theirs;  // Leaf first.
  uint32_t end = 0;                        // Why ours ends.
};

// A rule that holds for exactly those stops where the oracle errs in the way that `reason` says.
struct OracleError {
  const char* program;
  const char* oracle;  // "gdb", "dwfl", "libunwind".
  const char* reason;
  bool (*holds)(const GalleryStop& stop);
};

std::span<const OracleError> OracleErrors();

// Names of all programs, sorted: the folders of tests/fixtures/native.
std::vector<std::string> GalleryPrograms();
// The built file; empty when it is not there (its toolchain is not).
std::string GalleryFile(const std::string& program);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_GALLERY_CASES_H_
