// What arm64 code without unwind rules is known to do, from its instructions or its place:
//   - The kernel's way out of a signal handler, in the vDSO: mov x8, #139; svc #0. It has no rules
//     on purpose (bpf/shared/arch_arm64.h), and unwinders are to know it by these instructions.
//   - The vDSO's other functions, whose rules the kernel's build throws away too
//     (arch/arm64/kernel/vdso/vdso.lds.S): cfi/arm64_scan.h follows their instructions.
//   - Stubs of the .plt, which linkers write without rules: they leave x29, x30 and sp alone. The
//     first one, which asks the loader for a function's address, pushes x16 and x30.
// Input:   a foreign file's text; every read is checked.
// Cost:    one read of a page's text where the page has a gap of two instructions or more.
#ifndef STACKRAY_SYMBOLIZER_CFI_ARM64_GAPS_H_
#define STACKRAY_SYMBOLIZER_CFI_ARM64_GAPS_H_

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/statusor.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/cfi/page_encode.h"
#include "symbolizer/elf_image.h"

namespace stackray::cfi {

// The .plt, in ELF addresses.
struct Arm64Stubs {
  uint64_t begin = 0, end = 0;
};
// nullopt: another machine, or no such section.
std::optional<Arm64Stubs> FindArm64Stubs(const ElfImage& elf);

// Part of a page that is one segment's: offsets in the page, and where `begin` is.
struct TextPiece {
  uint32_t begin = 0, end = 0;
  uint64_t address = 0, file_offset = 0;
};

// Addresses at which functions begin, from .dynsym: of a small file without any call frame
// information (the vDSO). Empty otherwise. Errors: as ByteSource::Read.
absl::StatusOr<std::vector<uint64_t>> FindArm64Functions(const ByteSource& source,
                                                         const ElfImage& elf);

// Gives rules to such code where `rows` has none. Errors: Unavailable, OutOfRange (the file cannot
// be read any more).
absl::Status FillArm64Gaps(const ByteSource& source, const TextPiece& piece,
                           const std::optional<Arm64Stubs>& stubs,
                           std::span<const uint64_t> functions, PageRows* rows);

}  // namespace stackray::cfi

#endif  // STACKRAY_SYMBOLIZER_CFI_ARM64_GAPS_H_
