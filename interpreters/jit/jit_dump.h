// Jitdump files, as perf reads them (tools/perf/Documentation/jitdump-specification.txt of Linux
// 6.12): records of functions that were made and moved, with their lines and their .eh_frame. The
// latter is made for a place of its own: behind the code, at the next multiple of 8 bytes
// (tools/perf/util/genelf.c).
//
// Layout, little endian: a header of `total_size` bytes, then records, each with its kind, its size
// and its time. The file grows, and its last record may be half written: then it is read again
// later.
//
// Input:   a file that a sampled process writes; nothing in it is trusted.
// Memory:  one record's names, lines and entries, at most kMaxRecordRead each, beside the functions
//          and their rows.
// Threads: one at a time.
#ifndef STACKRAY_INTERPRETERS_JIT_JIT_DUMP_H_
#define STACKRAY_INTERPRETERS_JIT_JIT_DUMP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "interpreters/jit/jit_code.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/cfi/jit_rows.h"

namespace stackray {

class JitDumpReader {
 public:
  static constexpr uint64_t kMaxRecordRead = 1 << 20;  // What of a record is read at most.

  // Reads on in `source`, the file as long as it is now, until its end or until `is_over` says that
  // there is no more time; it is asked once a record. What a function's record brings to unwind it
  // by goes into `rows`.
  // Errors: Unimplemented (the other byte order, another version or machine) and DataLoss (no
  // jitdump, or a record that makes no sense): nothing more will be read of the file. Unavailable:
  // I/O error.
  absl::Status ReadOn(const ByteSource& source, JitCode& code, cfi::JitRows& rows,
                      const std::function<bool()>& is_over = {});

  uint64_t offset() const { return offset_; }  // Up to which the file is read.
  uint64_t functions() const { return functions_; }
  uint64_t damaged() const { return damaged_; }

 private:
  absl::Status ReadHeader(const ByteSource& source);
  void TakeRecord(uint32_t kind, std::span<const uint8_t> body, JitCode& code, cfi::JitRows& rows);
  void TakeLoad(std::span<const uint8_t> body, JitCode& code, cfi::JitRows& rows);
  void TakeMove(std::span<const uint8_t> body, JitCode& code, cfi::JitRows& rows);
  void TakeEntries(std::span<const uint8_t> body);
  void PutRows(uint64_t start, uint64_t size_bytes, cfi::JitRows& rows);
  void TakeLines(std::span<const uint8_t> body);

  uint64_t offset_ = 0;
  absl::Status status_;
  // Lines come before the function that they are of.
  struct Lines {
    uint64_t code = 0;
    std::vector<JitLine> lines;
    std::vector<std::string> files;
  };
  std::optional<Lines> lines_;
  std::vector<uint8_t> entries_;  // Of the function that comes next: its .eh_frame.
  uint64_t functions_ = 0, damaged_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_INTERPRETERS_JIT_JIT_DUMP_H_
