#include "kernel/refused_files.h"

#include <atomic>

namespace stackray {
namespace {

std::atomic<RefusedFiles*> g_files{nullptr};

}  // namespace

void SetRefusedFiles(RefusedFiles* files) { g_files.store(files, std::memory_order_release); }
RefusedFiles* GetRefusedFiles() { return g_files.load(std::memory_order_acquire); }

}  // namespace stackray
