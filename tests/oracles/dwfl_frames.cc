#include "tests/oracles/dwfl_frames.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#include <memory>

namespace stackray::test {
namespace {

constexpr size_t kMostFrames = 4096;

int TakeFrame(Dwfl_Frame* frame, void* argument) {
  auto* pcs = static_cast<std::vector<uint64_t>*>(argument);
  Dwarf_Addr pc = 0;
  if (!dwfl_frame_pc(frame, &pc, nullptr)) return DWARF_CB_ABORT;
  pcs->push_back(pc);
  return pcs->size() < kMostFrames ? DWARF_CB_OK : DWARF_CB_ABORT;
}

}  // namespace

DwflStack DwflFrames(pid_t pid, pid_t tid) {
  static const Dwfl_Callbacks kCallbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                            .find_debuginfo = dwfl_standard_find_debuginfo,
                                            .section_address = nullptr,
                                            .debuginfo_path = nullptr};
  const std::unique_ptr<Dwfl, void (*)(Dwfl*)> dwfl(dwfl_begin(&kCallbacks), dwfl_end);
  DwflStack stack;
  if (dwfl == nullptr || dwfl_linux_proc_report(dwfl.get(), pid) != 0 ||
      dwfl_report_end(dwfl.get(), nullptr, nullptr) != 0 ||
      dwfl_linux_proc_attach(dwfl.get(), pid, /*assume_ptrace_stopped=*/true) != 0) {
    stack.error = "cannot attach";
    return stack;
  }
  if (dwfl_getthread_frames(dwfl.get(), tid, TakeFrame, &stack.pcs) != 0)
    stack.error = dwfl_errmsg(-1);
  return stack;
}

}  // namespace stackray::test
