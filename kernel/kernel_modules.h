// Loaded kernel modules and the build ids of kernel code.
#ifndef STACKRAY_KERNEL_KERNEL_MODULES_H_
#define STACKRAY_KERNEL_KERNEL_MODULES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stackray {

struct KernelModule {
  std::string name;
  uint64_t start = 0;       // Of its text, as the kernel runs; never 0.
  uint64_t size_bytes = 0;  // Of all its memory, of which the text is the first part.
};

// Lines of /proc/modules: name, size, use count, users, state, address. Lines of another form, and
// those whose address the kernel hides or that are going, are left out. Ascending by address.
std::vector<KernelModule> ParseModules(std::string_view text);

// Hex of the GNU build id in a file of notes of at most 64 KiB; "" when there is none.
std::string ReadBuildIdFile(const std::string& path);

// Hex of a module's build id, from `sys_module`/NAME/notes/.note.gnu.build-id.
std::string ReadModuleBuildId(const std::string& sys_module, std::string_view name);

// At most `limit` bytes of a file; "" when it cannot be opened.
std::string ReadSmallFile(const std::string& path, size_t limit);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_KERNEL_MODULES_H_
