// Kernel code: runtime address and time → image (vmlinux or a module), address inside of it, name.
//
// Addresses leave here with the random base taken out, so that every boot and every host with the
// same build shares them:
//   vmlinux  address − (_text as it runs) + (_text as it was linked). The link address is 16 MiB
//   above
//            __START_KERNEL_map on x86-64 (arch/x86/include/asm/page_64_types.h and the default of
//            CONFIG_PHYSICAL_START), and KIMAGE_VADDR of a kernel with 48-bit addresses on arm64
//            (arch/arm64/include/asm/memory.h, since 6.5). A kernel built for another one gets
//            addresses that differ from its vmlinux file by a constant; the names are right.
//   module   address − start of its text in /proc/modules.
//   others   BPF programs, ftrace's and kprobes' trampolines: no image, the address is 0.
//
// Modules and the others come and go, and their addresses are used again. What was where is kept
// with its time (code_history.h): from CodeEvents as it happens; from /proc/kallsyms and
// /proc/modules at the start, after reports were lost, and for an address that nothing explains. So
// a sample is named by what was there when it was taken, also when that has gone since.
//
// Memory:  Kallsyms' and some KiB; bytes() counts it. Threads: one thread.
#ifndef STACKRAY_KERNEL_KERNEL_SYMBOLS_H_
#define STACKRAY_KERNEL_KERNEL_SYMBOLS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernel/code_events.h"
#include "kernel/code_history.h"
#include "kernel/kallsyms.h"
#include "kernel/module_history.h"
#include "profile/executable.h"
#include "profile/frame.h"

namespace stackray {

struct KernelSymbolFiles {
  std::string kallsyms = "/proc/kallsyms";
  std::string modules = "/proc/modules";
  std::string kernel_notes = "/sys/kernel/notes";
  std::string sys_module = "/sys/module";
};

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
  // the image is part of the identity; two programs that had one address have two numbers.
  FrameKey key;
  uint32_t image = kVmlinuxImage;  // For Mapping(), or kNoKernelImage.
  uint64_t address = 0;            // Inside of the image; 0 without one.
};

struct KernelCode {
  KernelPlace place;
  std::string name;  // "" where no symbol covers the address.
};

// Times are CLOCK_BOOTTIME, as records have them; kStillThere means now.
class KernelSymbols {
 public:
  // Without `events` only reading the files again tells what is new.
  // Errors: PermissionDenied (addresses are hidden; the message says what to do), NotFound,
  // Unavailable, DataLoss: as ReadKallsyms. Missing modules and build ids are no error.
  static absl::StatusOr<KernelSymbols> Load(KernelSymbolFiles files = {},
                                            std::unique_ptr<CodeEvents> events = nullptr);

  // Reads everything again. Tens of milliseconds, so the caller limits how often. Images keep their
  // numbers, also those of modules that are gone. Errors: as Load(); the symbols then stay as they
  // are.
  absl::Status Refresh();

  // nullopt: an address in no known range.
  std::optional<KernelPlace> Locate(uint64_t runtime_address, uint64_t time_ns = kStillThere);
  // For an address that Locate() does not know: reads everything again, unless that was done too
  // recently. The interval grows from 5 s to 5 min while it explains nothing.
  std::optional<KernelPlace> LocateByReading(uint64_t runtime_address, uint64_t time_ns);
  // "" where no symbol covers the address. Reads everything again, at most twice a second, for a
  // module that was loaded since.
  std::string NameOf(uint64_t runtime_address, uint64_t time_ns = kStillThere);
  std::optional<KernelCode> Find(uint64_t runtime_address, uint64_t time_ns = kStillThere);

  // Takes what was reported, and reads everything again after reports were lost (at most once in 5
  // s). To be called several times a second, because the reports wait in small rings. Microseconds.
  void Follow();
  void FollowCpus(std::span<const int> online);
  // Nobody asks about times before `time_ns` any more.
  void DropEndedBefore(uint64_t time_ns);

  // Name, range and build id of an image that a KernelPlace named; MappingInfo{} for any other
  // number. Start and limit are link addresses: of _text and _etext, or 0 and the module's size.
  MappingInfo Mapping(uint32_t image) const;

  const Kallsyms& symbols() const { return symbols_; }
  const CodeHistory& loose_code() const { return loose_; }
  uint64_t readings() const { return readings_; }  // How often the files were read.
  size_t bytes() const;

 private:
  KernelSymbols() = default;
  uint64_t NowNs() const;
  void TakeEvents();
  void ReadModules(const CodeHistory::ListTimes& times);
  void SetVmlinux();
  std::vector<ListedCode> ListLoose() const;
  bool IsVmlinux(uint64_t address) const { return address - text_start_ < text_bytes_; }

  KernelSymbolFiles files_;
  std::unique_ptr<CodeEvents> events_;
  Kallsyms symbols_;
  uint64_t text_start_ = 0, text_bytes_ = 0;
  MappingInfo vmlinux_;
  ModuleHistory modules_;
  CodeHistory loose_;
  uint64_t followed_ns_ = 0;  // What was reported until then has been taken.
  uint64_t complete_ns_ = 0;  // Until then nothing that was reported is missing.
  uint64_t listed_ns_ = 0;    // When the files were last read.
  bool missed_ = false;       // Reports were lost after that.
  uint64_t next_heal_ns_ = 0, next_module_read_ns_ = 0, next_miss_read_ns_ = 0;
  uint64_t miss_interval_ns_ = 0;
  uint64_t readings_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_KERNEL_SYMBOLS_H_
