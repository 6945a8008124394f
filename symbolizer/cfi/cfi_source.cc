#include "symbolizer/cfi/cfi_source.h"

#include <elf.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "symbolizer/cfi/arm64_gaps.h"
#include "symbolizer/cfi/first_functions.h"
#include "symbolizer/cfi/frame_section.h"
#include "symbolizer/cfi/page_builder.h"
#include "symbolizer/cfi/sframe.h"

namespace stackray {
namespace {

constexpr uint64_t kMaxFileOffset = uint64_t{1} << 46;  // Pages are counted in 32 bits.
constexpr uint64_t kMaxLoaderBytes = 1 << 20;           // Of code; glibc's has 160 KiB.

constexpr uint64_t kMaxScannedBytes = 64 << 10;  // arm64's vDSO has 2 to 6 KiB.

uint64_t CodeBytes(const ElfImage& elf) {
  uint64_t sum = 0;
  for (const ElfSegment& segment : elf.segments())
    if (segment.executable) sum += segment.file_bytes;
  return sum;
}

// The dynamic loader, or a static-PIE with a loader of its own: starts by itself, at any address.
// Its _dl_runtime_resolve, which binds a function at its first call, keeps its frame in rbx while
// ordinary functions below it have rbx saved.
bool IsLoader(const ElfImage& elf) {
  return elf.file_type() == ET_DYN && elf.entry() != 0 && elf.FindSection(".interp") == nullptr &&
         CodeBytes(elf) <= kMaxLoaderBytes;
}

// Some linkers put everything that is only read into the segment with the code: where sections say
// which part is code, they are believed.
template <typename Code>
std::vector<Code> Instructions(const ElfImage& elf, const std::vector<Code>& segments,
                               uint64_t file_end) {
  std::vector<Code> sections;
  for (const ElfSection& section : elf.sections()) {
    if ((section.flags & SHF_EXECINSTR) == 0 || section.type == SHT_NOBITS ||
        section.size_bytes == 0 || section.file_offset >= file_end)
      continue;
    const uint64_t bytes = std::min(section.size_bytes, file_end - section.file_offset);
    sections.push_back({section.file_offset, section.file_offset + bytes, section.address});
  }
  std::ranges::stable_sort(sections, {}, &Code::file_begin);
  return sections.empty() ? segments : sections;
}

}  // namespace

absl::StatusOr<UnwindTables> UnwindTables::Create(const ByteSource& source, const ElfImage& elf) {
  if (cfi::Machine::Of(elf.machine()) == nullptr)
    return absl::UnimplementedError("unwind tables of another machine than x86-64 and arm64");
  const uint64_t file_end = std::min(source.size_bytes(), kMaxFileOffset);
  std::vector<Builder::Code> code;
  for (const ElfSegment& segment : elf.segments()) {
    if (!segment.executable || segment.file_bytes == 0 || segment.file_offset >= file_end) continue;
    const uint64_t bytes = std::min(segment.file_bytes, file_end - segment.file_offset);
    if (segment.address + bytes < segment.address) continue;
    code.push_back({segment.file_offset, segment.file_offset + bytes, segment.address});
  }
  if (code.empty()) return absl::NotFoundError("no executable segment");
  std::ranges::stable_sort(code, {}, &Builder::Code::file_begin);
  const bool is_x86 = elf.machine() == EM_X86_64;
  const std::optional<cfi::FrameSection> section = cfi::FindFrameSection(source, elf);
  std::vector<uint64_t> functions;
  if (!section && !is_x86 && CodeBytes(elf) <= kMaxScannedBytes) {
    absl::StatusOr<std::vector<uint64_t>> found = cfi::FindArm64Functions(source, elf);
    if (found.ok()) functions = *std::move(found);
  }
  std::unique_ptr<cfi::SframeTable> sframe = cfi::SframeTable::Create(elf, source);
  std::unique_ptr<cfi::GoFrames> go = cfi::GoFrames::Create(elf, source);
  if (!section && !is_x86 && functions.empty() && sframe == nullptr && go == nullptr)
    return absl::NotFoundError("no call frame information");
  // Without any, an empty section: all code is a gap.
  cfi::FrameSection none;
  none.region.machine = cfi::Machine::Of(elf.machine());
  none.region.end_is_known = !is_x86;
  const std::optional<cfi::Arm64Stubs> stubs = cfi::FindArm64Stubs(elf);
  auto builder =
      std::make_unique<Builder>(source, section.value_or(none), code, stubs, std::move(functions));
  builder->LookAt(Instructions(elf, code, file_end), elf.entry());
  if (is_x86 && IsLoader(elf)) builder->KeepRbx();
  builder->EndAt(cfi::FindFirstFunctions(elf, source));
  builder->AskFirst(std::move(go));
  if (section && !section->region.is_debug_frame)
    if (const auto more = cfi::FindDebugFrame(source, elf); more)
      builder->FillFrom(
          std::make_unique<Builder>(source, *more, code, stubs, std::vector<uint64_t>()));
  builder->FillFrom(std::move(sframe));
  return UnwindTables(std::move(builder));
}

UnwindTables::Kind UnwindTables::FirstOf(const ByteSource& source, const ElfImage& elf) {
  if (const auto section = cfi::FindFrameSection(source, elf); section)
    return section->region.is_debug_frame ? Kind::kDebugFrame : Kind::kEhFrame;
  return cfi::SframeTable::Create(elf, source) != nullptr ? Kind::kSframe : Kind::kNone;
}

UnwindTables::UnwindTables(std::unique_ptr<Builder> builder) : builder_(std::move(builder)) {}
UnwindTables::UnwindTables(UnwindTables&&) noexcept = default;
UnwindTables& UnwindTables::operator=(UnwindTables&&) noexcept = default;
UnwindTables::~UnwindTables() = default;

bool UnwindTables::changes_stacks() const { return builder_->changes_stacks(); }

void UnwindTables::HandToRuntime(std::vector<uint64_t> last_bytes_of_calls) {
  builder_->HandToRuntime(std::move(last_bytes_of_calls));
}

PageRange UnwindTables::pages() const { return builder_->pages(); }

absl::StatusOr<std::vector<uint8_t>> UnwindTables::BuildPage(uint32_t page) {
  return builder_->BuildPage(page, cfi::GapEffort::kAll);
}

absl::StatusOr<std::vector<uint8_t>> UnwindTables::BuildPageIfCheap(uint32_t page) {
  return builder_->BuildPage(page, cfi::GapEffort::kLargeOnly);
}

size_t UnwindTables::memory_bytes() const { return sizeof(*this) + builder_->memory_bytes(); }

}  // namespace stackray
