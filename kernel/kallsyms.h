// The text symbols of /proc/kallsyms, sorted and small.
//
// kallsyms gives no sizes: a symbol reaches up to the next one, as the kernel's own oops messages
// have it. Of several names with one address the first line wins, which is the kernel's choice too;
// the linker script's _text and _stext win only where nothing else is.
//
// Memory:  8 bytes a symbol and its name, where "__pfx_NAME" and "__cfi_NAME" share the bytes of
// NAME.
//          Building needs about twice as much for a moment.
// Threads: immutable after Finish().
#ifndef STACKRAY_KERNEL_KALLSYMS_H_
#define STACKRAY_KERNEL_KALLSYMS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace stackray {

class Kallsyms {
 public:
  // Reads the file's text in pieces of any size.
  class Builder {
   public:
    void Add(std::string_view piece);
    // Errors: PermissionDenied (all addresses are zero; the message says what to do), DataLoss (no
    // symbol at all, or no _text).
    absl::StatusOr<Kallsyms> Finish() &&;

   private:
    friend class Kallsyms;
    struct Symbol {
      uint64_t address;
      uint32_t name;  // Offset into names_.
      uint16_t module;
      bool is_marker;
    };
    void AddLine(std::string_view line);
    uint16_t ModuleIndex(std::string_view name);

    std::string partial_line_;
    std::string names_;  // Each ends with a NUL.
    std::vector<Symbol> symbols_;
    std::vector<std::string> modules_ = {""};
    uint64_t text_start_ = 0, text_end_ = 0;
    bool saw_line_ = false, saw_address_ = false;
  };

  // Index of the last symbol that starts at or before the address.
  std::optional<size_t> IndexAt(uint64_t address) const;
  size_t size() const { return entries_.size(); }
  uint64_t start(size_t index) const;
  // Start of the next symbol; the largest address behind the last.
  uint64_t end(size_t index) const;
  std::string name(size_t index) const;
  // The word in brackets behind the name: a module's name, or "bpf", "__builtin__ftrace" and the
  // like for code without a file; "" for the kernel itself.
  const std::string& module(size_t index) const;

  uint64_t text_start() const { return text_start_; }  // _text, as the kernel runs.
  uint64_t text_end() const { return text_end_; }      // _etext; 0 where kallsyms does not list it.
  size_t bytes() const;

 private:
  struct Entry {
    uint32_t low;   // Low half of the address.
    uint32_t name;  // Offset into names_, with the prefix's number in the two highest bits.
  };
  struct Region {  // Entries from `first` on have this high half.
    uint64_t high;
    uint32_t first;
  };
  struct ModuleRun {  // Entries from `first` on belong to this module.
    uint32_t first;
    uint16_t module;
  };
  void Append(const Builder::Symbol& symbol, uint32_t name);

  std::vector<Entry> entries_;  // Strictly ascending by address.
  std::vector<Region> regions_;
  std::vector<ModuleRun> runs_;
  std::vector<std::string> modules_;
  std::string names_;  // Each ends with a NUL.
  uint64_t text_start_ = 0, text_end_ = 0;
};

// Errors: as Builder::Finish; NotFound, Unavailable (the file cannot be opened or read).
absl::StatusOr<Kallsyms> ReadKallsyms(const std::string& path);

}  // namespace stackray

#endif  // STACKRAY_KERNEL_KALLSYMS_H_
