// Where the function around an address begins, by the call frame information: what holds the
// addresses of one function together where no symbol names it.
//
// Input:   foreign files, so nothing in them is trusted. A file whose entries are not indexed is
//          gone through once, if it has less than 4 MiB of them; of a compressed .debug_frame
//          nothing is said.
// Memory:  about 50 KiB a file, of the kMostFiles files that were asked last.
// Threads: one.
#ifndef STACKRAY_SYMBOLIZER_CFI_FUNCTION_BEGINS_H_
#define STACKRAY_SYMBOLIZER_CFI_FUNCTION_BEGINS_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>

#include "symbolizer/byte_source.h"

namespace stackray {

class FunctionBegins {
 public:
  static constexpr size_t kMostFiles = 16;

  FunctionBegins();
  ~FunctionBegins();

  // ELF address of the first instruction of the entry that covers `elf_address`; nullopt: none
  // does, or `source` has changed. `handle` names the content of `source`, which is read during the
  // call only.
  std::optional<uint64_t> Find(uint64_t handle, const ByteSource& source, uint64_t elf_address);

  void Wipe();
  size_t bytes() const;

 private:
  struct File;
  File& FileOf(uint64_t handle, const ByteSource& source);

  std::list<std::unique_ptr<File>> files_;  // Asked last first.
};

}  // namespace stackray

#endif  // STACKRAY_SYMBOLIZER_CFI_FUNCTION_BEGINS_H_
