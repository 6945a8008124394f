// libs: stackray_history
// A file of the history from any bytes: what it lists lies in it, in its order, and can be read.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "agent/history/batch_scan.h"
#include "agent/history/segment_file.h"
#include "kernel/unique_fd.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const stackray::UniqueFd fd(memfd_create("segment", MFD_CLOEXEC));
  if (!fd.valid() || write(fd.get(), data, size) != static_cast<ssize_t>(size)) return 0;
  stackray::FileWindow window(fd.get());
  for (const uint64_t begin : {uint64_t{0}, uint64_t{4}, uint64_t{size / 2}})
    for (const uint64_t bytes : {uint64_t{size}, uint64_t{size / 2}, ~uint64_t{0}})
      if (const auto times = stackray::ScanBatch(window, begin, bytes); times)
        if (begin + bytes > size || begin + bytes < begin) std::abort();
  const std::string_view name(reinterpret_cast<const char*>(data), size);
  stackray::SegmentFile::SequenceOf(name);
  return 0;
}
