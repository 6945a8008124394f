// Kernel code: runtime address → image (vmlinux or a module), address inside of it, name.
//
// Addresses leave here with the random base taken out, so that every boot and every host with the
// same build shares them (design.md §12):
//   vmlinux  address − (_text as it runs) + (_text as it was linked). The link address is 16 MiB
//   above
//            __START_KERNEL_map on x86-64 (arch/x86/include/asm/page_64_types.h and the default of
//            CONFIG_PHYSICAL_START), and KIMAGE_VADDR of a kernel with 48-bit addresses on arm64
//            (arch/arm64/include/asm/memory.h, since 6.5). A kernel built for another one gets
//            addresses that differ from its vmlinux file by a constant; the names are right.
//   module   address − start of its text in /proc/modules.
//   others   BPF programs, ftrace's and kprobes' trampolines: no image, the address is 0.
//
// Memory:  Kallsyms' and some KiB; bytes() counts it. Threads: one thread.
#ifndef STACKRAY_KERNEL_KERNEL_SYMBOLS_H_
#define STACKRAY_KERNEL_KERNEL_SYMBOLS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernel/kallsyms.h"
#include "profile/executable.h"
#include "profile/frame.h"

namespace stackray {

struct KernelSymbolFiles {
  std::string kallsyms = "/proc/kallsyms";
  std::string modules = "/proc/modules";
  std::string kernel_notes = "/sys/kernel/notes";
  std::string sys_module = "/sys/module";
};

inline constexpr uint32_t kVmlinuxImage = 0;
inline constexpr uint32_t kNoKernelImage = 0xffffffff;

#if defined(__aarch64__)
inline constexpr uint64_t kKernelLinkAddress = 0xffff800080000000;
#else
inline constexpr uint64_t kKernelLinkAddress = 0xffffffff81000000;
#endif

// Where a kernel frame lies.
struct KernelPlace {
  // Ask the batch by this: word0 the address (without an image: as it runs), word1 the image, or a
  // number of its own for every piece of code without one. Two modules have the same addresses, so
  // the image is part of the identity.
  FrameKey key;
  uint32_t image = kVmlinuxImage;  // For Mapping(), or kNoKernelImage.
  uint64_t address = 0;            // Inside of the image; 0 without one.
};

struct KernelCode {
  KernelPlace place;
  std::string name;  // "" where no symbol covers the address.
};

class KernelSymbols {
 public:
  // Errors: PermissionDenied (addresses are hidden; the message says what to do), NotFound,
  // Unavailable, DataLoss: as ReadKallsyms. Missing modules and build ids are no error.
  static absl::StatusOr<KernelSymbols> Load(KernelSymbolFiles files = {});

  // Reads everything again: for a module or BPF program that was loaded since. Tens of
  // milliseconds, so the caller limits how often. Images keep their numbers, also those of modules
  // that are gone. Errors: as Load(); the symbols then stay as they are.
  absl::Status Refresh();

  // nullopt: an address in no known range, which Refresh() may find.
  std::optional<KernelPlace> Locate(uint64_t runtime_address) const;
  // "" where no symbol covers the address.
  std::string NameOf(uint64_t runtime_address) const;
  std::optional<KernelCode> Find(uint64_t runtime_address) const;

  // Name, range and build id of an image that a KernelPlace named; MappingInfo{} for any other
  // number. Start and limit are link addresses: of _text and _etext, or 0 and the module's size.
  MappingInfo Mapping(uint32_t image) const;

  const Kallsyms& symbols() const { return symbols_; }
  size_t bytes() const;

 private:
  struct Range {  // Ascending, disjoint.
    uint64_t start, end;
    uint32_t image;
  };
  struct Loose {  // A symbol of no image; ascending by index.
    size_t index;
    uint64_t number;
  };

  KernelSymbols() = default;
  void SetImages();
  void SetLoose(const Kallsyms* before, const std::vector<Loose>& loose_before);
  uint32_t ImageOf(MappingInfo mapping);
  std::optional<Loose> LooseAt(uint64_t runtime_address) const;

  KernelSymbolFiles files_;
  Kallsyms symbols_;
  std::vector<MappingInfo> images_;  // By number; never shrinks, one for each build of a module.
  std::vector<Range> ranges_;
  std::vector<Loose> loose_;
  uint64_t next_loose_ = 1;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_KERNEL_SYMBOLS_H_
