#include "agent/privileges/sealed_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

// The build makes this object depend on the file.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    ".hidden stackray_target_entry_begin\n"
    ".global stackray_target_entry_begin\n"
    "stackray_target_entry_begin:\n"
    ".incbin \"" STACKRAY_TARGET_ENTRY_FILE
    "\"\n"
    ".hidden stackray_target_entry_end\n"
    ".global stackray_target_entry_end\n"
    "stackray_target_entry_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" const char stackray_target_entry_begin[];
extern "C" const char stackray_target_entry_end[];

namespace stackray {
namespace {

constexpr unsigned kMfdExec = 0x10;  // include/uapi/linux/memfd.h since Linux 6.3.
constexpr int kSeals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;

UniqueFd MakeExecutableFile() {
  constexpr char kName[] = "stackray-enter";
  constexpr unsigned kFlags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  UniqueFd fd(memfd_create(kName, kFlags | kMfdExec));
  if (!fd.valid() && errno == EINVAL) fd = UniqueFd(memfd_create(kName, kFlags));
  return fd;
}

bool WriteProgram(int fd) {
  const auto size = static_cast<size_t>(stackray_target_entry_end - stackray_target_entry_begin);
  for (size_t at = 0; at < size;) {
    const ssize_t put = write(fd, stackray_target_entry_begin + at, size - at);
    if (put < 0 && errno != EINTR) return false;
    if (put > 0) at += static_cast<size_t>(put);
  }
  return true;
}

}  // namespace

UniqueFd MakeSealedProgram() {
  const UniqueFd file = MakeExecutableFile();
  if (!file.valid() || !WriteProgram(file.get()) || fchmod(file.get(), 0555) != 0 ||
      fcntl(file.get(), F_ADD_SEALS, kSeals) != 0)
    return UniqueFd();
  // A file that somebody has open for writing cannot be executed.
  return UniqueFd(open(fmt::format("/proc/self/fd/{}", file.get()).c_str(), O_RDONLY | O_CLOEXEC));
}

}  // namespace stackray
