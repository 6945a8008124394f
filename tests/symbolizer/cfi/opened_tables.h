// A file's unwind tables with all they depend on, for tests.
#ifndef STACKRAY_TESTS_SYMBOLIZER_CFI_OPENED_TABLES_H_
#define STACKRAY_TESTS_SYMBOLIZER_CFI_OPENED_TABLES_H_

#include <fcntl.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "kernel/unique_fd.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/cfi/cfi_source.h"
#include "symbolizer/elf_image.h"

namespace stackray {

struct OpenedTables {
  UniqueFd fd;
  std::vector<uint8_t> bytes;
  std::unique_ptr<ByteSource> source;
  std::optional<ElfImage> elf;
  std::optional<UnwindTables> tables;
  absl::Status status;  // Why `tables` is empty.

  void Open() {
    absl::StatusOr<ElfImage> image = ElfImage::Create(*source);
    status = image.status();
    if (!image.ok()) return;
    elf = std::move(*image);
    absl::StatusOr<UnwindTables> opened = UnwindTables::Create(*source, *elf);
    status = opened.status();
    if (opened.ok()) tables = std::move(*opened);
  }
};

inline std::unique_ptr<OpenedTables> OpenFile(const std::string& path) {
  auto opened = std::make_unique<OpenedTables>();
  opened->fd.reset(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status;
  if (!opened->fd.valid() || fstat(opened->fd.get(), &status) != 0) {
    opened->status = absl::NotFoundError(path);
    return opened;
  }
  opened->source =
      std::make_unique<FdSource>(opened->fd.get(), static_cast<uint64_t>(status.st_size));
  opened->Open();
  return opened;
}

inline std::unique_ptr<OpenedTables> OpenBytes(std::vector<uint8_t> bytes) {
  auto opened = std::make_unique<OpenedTables>();
  opened->bytes = std::move(bytes);
  opened->source = std::make_unique<MemorySource>(opened->bytes);
  opened->Open();
  return opened;
}

}  // namespace stackray

#endif  // STACKRAY_TESTS_SYMBOLIZER_CFI_OPENED_TABLES_H_
