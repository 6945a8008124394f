// A library that looks like a runtime, opened and given to that runtime's loader.
#ifndef STACKRAY_TESTS_INTERPRETERS_RECOGNISED_LIBRARY_H_
#define STACKRAY_TESTS_INTERPRETERS_RECOGNISED_LIBRARY_H_

#include <fcntl.h>
#include <sys/stat.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "interpreters/symbol_finder.h"
#include "kernel/unique_fd.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray::test {

struct OpenedLibrary {
  // `name` is one of the targets' of tests/interpreters; a path begins with a slash.
  explicit OpenedLibrary(const std::string& name)
      : fd(open((name.starts_with("/") ? name : std::string(FAKE_RUNTIMES) + "/" + name + ".so")
                    .c_str(),
                O_RDONLY | O_CLOEXEC)) {
    struct stat info = {};
    if (fstat(fd.get(), &info) != 0) return;
    source = std::make_unique<FdSource>(fd.get(), static_cast<uint64_t>(info.st_size));
    absl::StatusOr<ElfImage> read = ElfImage::Create(*source);
    if (read.ok()) image = *std::move(read);
  }
  // Empty: there is no such symbol.
  std::optional<FoundSymbol> Symbol(std::string_view name) const {
    const auto found = FindSymbols(*image, *source, SymbolSection::kAll,
                                   [&](std::string_view other) { return other == name; });
    if (found.empty()) return std::nullopt;
    return found.begin()->second;
  }
  uint64_t AddressOf(std::string_view name) const {
    const std::optional<FoundSymbol> symbol = Symbol(name);
    return symbol ? symbol->address : 0;
  }
  // From where byte 0 of the text is, as `function` is of the text: so the layouts count.
  uint64_t PlaceOf(uint64_t address, std::string_view function) const {
    const uint64_t text = AddressOf(function);
    return address - (text - *image->OffsetOfAddress(text));
  }

  UniqueFd fd;
  std::unique_ptr<FdSource> source;
  std::optional<ElfImage> image;
};

// nullptr: it is not that runtime.
template <class Loader, class Data>
std::shared_ptr<const Data> RecogniseAs(const OpenedLibrary& library) {
  if (!library.image) return nullptr;
  return std::static_pointer_cast<const Data>(Loader().Recognise(*library.image, *library.source));
}

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_INTERPRETERS_RECOGNISED_LIBRARY_H_
