#include "tests/oracles/libunwind_frames.h"

#ifdef STACKRAY_LIBUNWIND
#include <libunwind-ptrace.h>

#include <memory>
#include <type_traits>
#endif

namespace stackray::test {

#ifdef STACKRAY_LIBUNWIND

bool HasLibunwind() { return true; }

LibunwindStack LibunwindFrames(pid_t tid) {
  constexpr size_t kMostFrames = 4096;
  using Space = std::remove_pointer_t<unw_addr_space_t>;
  const std::unique_ptr<Space, void (*)(Space*)> space(unw_create_addr_space(&_UPT_accessors, 0),
                                                       unw_destroy_addr_space);
  const std::unique_ptr<void, void (*)(void*)> thread(_UPT_create(tid), _UPT_destroy);
  LibunwindStack stack;
  unw_cursor_t cursor;
  if (space == nullptr || thread == nullptr ||
      unw_init_remote(&cursor, space.get(), thread.get()) != 0) {
    stack.error = "cannot attach";
    return stack;
  }
  int step = 0;
  do {
    unw_word_t pc = 0;
    if ((step = unw_get_reg(&cursor, UNW_REG_IP, &pc)) < 0) break;
    stack.pcs.push_back(pc);
    step = unw_step(&cursor);
  } while (step > 0 && stack.pcs.size() < kMostFrames);
  if (step < 0) stack.error = unw_strerror(step);
  return stack;
}

#else

bool HasLibunwind() { return false; }

LibunwindStack LibunwindFrames(pid_t /*tid*/) { return {}; }

#endif

}  // namespace stackray::test
