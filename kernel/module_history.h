// The kernel's modules over time: where each one's text lay, its build, its symbols.
//
// A build of a module has a number (an image) that it keeps when it goes and comes back; a module
// without a build id is another one each time. The symbols of loaded modules are in the Kallsyms
// that was read last; of one that went, they are copied out of it before it is replaced.
//
// Memory:  some KiB, and the names of modules that went until DropEndedBefore(). Threads: one.
#ifndef STACKRAY_KERNEL_MODULE_HISTORY_H_
#define STACKRAY_KERNEL_MODULE_HISTORY_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel/code_history.h"
#include "kernel/kallsyms.h"
#include "profile/executable.h"

namespace stackray {

inline constexpr uint32_t kVmlinuxImage = 0;  // Modules' images count from 1.

class ModuleHistory {
 public:
  struct Place {
    uint32_t image = 0;
    uint64_t address = 0;  // From the module's start.
  };
  struct Name {
    std::string name;            // "": none.
    bool needs_reading = false;  // The table is older than the module: Kallsyms must be read again.
  };

  // What /proc/modules says. Build ids of new ones are read from `sys_module`.
  void Update(std::string_view proc_modules, const std::string& sys_module,
              const CodeHistory::ListTimes& times);
  void Remove(std::string_view name, uint64_t time_ns);
  // A new table takes the place of `before`. Its reading began when `last_number` was the last.
  void TableChanges(const Kallsyms& before, uint64_t last_number);
  uint64_t last_number() const { return pieces_.last_number(); }

  std::optional<Place> Find(uint64_t address, uint64_t time_ns) const;
  // `table`: the one that was read last.
  Name NameOf(uint64_t address, uint64_t time_ns, const Kallsyms& table) const;
  // MappingInfo{} for an image that there never was.
  MappingInfo Mapping(uint32_t image) const;
  // A module of that name is loaded and holds `address`.
  bool Has(std::string_view name, uint64_t address) const;
  // Start of the first loaded module that begins behind `address`; the largest address: none does.
  uint64_t NextStart(uint64_t address) const;
  void DropEndedBefore(uint64_t time_ns);
  size_t bytes() const;

 private:
  using Names = std::vector<std::pair<uint64_t, std::string>>;  // By offset.
  struct Facts {
    uint32_t image = 0;
    bool in_table = false;  // The table that was read last has its symbols.
    Names names;            // Of a module that went.
  };
  uint32_t ImageOf(MappingInfo mapping);
  static Names CopyNames(const CodePiece& piece, const Kallsyms& table);

  CodeHistory pieces_;
  std::map<uint64_t, Facts> facts_;  // By a piece's number.
  std::vector<MappingInfo> images_;  // By image − 1; never shrinks, one for each build of a module.
};

}  // namespace stackray

#endif  // STACKRAY_KERNEL_MODULE_HISTORY_H_
