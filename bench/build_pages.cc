// Measures making unwind rows: opening a file, one page, all pages.
//   build_pages FILE…
// Prints for each file the times (best of five rounds, warm page cache), rows, bytes a row and
// memory.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

#include "bpf/shared/unwind_table.h"
#include "kernel/unique_fd.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/cfi/cfi_source.h"
#include "symbolizer/elf_image.h"

namespace {

using Clock = std::chrono::steady_clock;

double MicrosecondsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

struct Round {
  double headers_us = 0, create_us = 0, first_page_us = 0, pages_us = 0, median_page_us = 0,
         p99_page_us = 0;
  uint64_t pages = 0, rows = 0, rules = 0, bytes = 0, memory_bytes = 0;
};

bool BuildAll(stackray::UnwindTables& tables, Round* round) {
  const stackray::PageRange range = tables.pages();
  std::vector<double> page_us;
  for (uint32_t i = 0; i < range.page_count; ++i) {
    const Clock::time_point start = Clock::now();
    const absl::StatusOr<std::vector<uint8_t>> blob = tables.BuildPage(range.first_page + i);
    page_us.push_back(MicrosecondsSince(start));
    if (!blob.ok()) return false;
    page_header header;
    std::memcpy(&header, blob->data(), sizeof(header));
    round->rows += header.start[PAGE_BLOCKS];
    round->rules += header.rule_count;
    round->bytes += blob->size();
    round->pages_us += page_us.back();
  }
  round->pages = range.page_count;
  round->first_page_us = page_us.front();
  std::ranges::sort(page_us);
  round->median_page_us = page_us[page_us.size() / 2];
  round->p99_page_us = page_us[page_us.size() * 99 / 100];
  round->memory_bytes = tables.memory_bytes();
  return true;
}

bool RunRound(const stackray::ByteSource& source, Round* round) {
  Clock::time_point start = Clock::now();
  const absl::StatusOr<stackray::ElfImage> elf = stackray::ElfImage::Create(source);
  round->headers_us = MicrosecondsSince(start);
  if (!elf.ok()) return false;
  start = Clock::now();
  absl::StatusOr<stackray::UnwindTables> tables = stackray::UnwindTables::Create(source, *elf);
  round->create_us = MicrosecondsSince(start);
  return tables.ok() && BuildAll(*tables, round);
}

bool Measure(const char* path) {
  const stackray::UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  struct stat status;
  if (fd.get() < 0 || fstat(fd.get(), &status) != 0) return false;
  const stackray::FdSource source(fd.get(), static_cast<uint64_t>(status.st_size));
  Round best;
  for (int i = 0; i < 5; ++i) {
    Round round;
    if (!RunRound(source, &round)) return false;
    if (i == 0 || round.pages_us < best.pages_us) best = round;
  }
  std::printf(
      "%s\n  ELF headers %.1f us, opening tables %.1f us, first page %.1f us\n"
      "  %lu pages in %.0f us: %.2f us a page, median %.2f, p99 %.2f\n"
      "  %lu rows, %lu rules, %lu bytes: %.2f bytes a row, %.1f ns a row; %.1f KiB held\n",
      path, best.headers_us, best.create_us, best.first_page_us, best.pages, best.pages_us,
      best.pages_us / static_cast<double>(best.pages), best.median_page_us, best.p99_page_us,
      best.rows, best.rules, best.bytes,
      static_cast<double>(best.bytes) / static_cast<double>(std::max<uint64_t>(best.rows, 1)),
      best.pages_us * 1000 / static_cast<double>(std::max<uint64_t>(best.rows, 1)),
      static_cast<double>(best.memory_bytes) / 1024);
  return true;
}

}  // namespace

int main(int argument_count, char** arguments) {
  for (int i = 1; i < argument_count; ++i)
    if (!Measure(arguments[i])) std::printf("%s: no unwind tables\n", arguments[i]);
  return 0;
}
