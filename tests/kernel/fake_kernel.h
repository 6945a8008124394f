// A kernel in a directory, as /proc and /sys show it, which a test may change while it "runs".
#ifndef STACKRAY_TESTS_KERNEL_FAKE_KERNEL_H_
#define STACKRAY_TESTS_KERNEL_FAKE_KERNEL_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "kernel/kernel_symbols.h"
#include "tests/temporary_directory.h"

namespace stackray::test {

inline constexpr uint64_t kShift = 0x12400000;  // What the kernel's random base added.
inline constexpr uint64_t kText = kKernelLinkAddress + kShift;
inline constexpr uint64_t kModuleA = 0xffffffffc0200000, kModuleB = 0xffffffffc0300000;
inline constexpr uint64_t kBpf = 0xffffffffc0900000;

// Its four files change at Write().
class FakeKernel {
 public:
  FakeKernel() {
    Symbol(kText, 'T', "srso_untrain");
    Symbol(kText, 'T', "_stext");
    Symbol(kText, 'T', "_text");
    Symbol(kText + 0x1000, 't', "__pfx_do_work");
    Symbol(kText + 0x1010, 't', "do_work");
    Symbol(kText + 0x1010, 'W', "weak_alias");
    Symbol(kText + 0x2000, 'T', "last_function");
    Symbol(kText + 0x3000, 'T', "_etext");
    Symbol(kText + 0x4000, 'D', "some_data");
    Symbol(kText + 0x9000, 't', "init_function");
    Module("mod_a", kModuleA, 0x4000, {0xaa, 0x01});
    Module("mod_b", kModuleB, 0x200000, {});
    Symbol(kModuleA + 0x10, 't', "a_open", "mod_a");
    Symbol(kModuleA + 0x100, 't', "a_read", "mod_a");
    Symbol(kModuleB, 't', "b_first", "mod_b");
    Symbol(kBpf, 't', "bpf_prog_6deef7357e7b4530_hello", "bpf");
    Symbol(kBpf + 0x100, 't', "bpf_prog_0123456789abcdef", "bpf");
    Notes(files().kernel_notes, {0xde, 0xad, 0xbe, 0xef});
  }

  void Symbol(uint64_t address, char type, const std::string& name,
              const std::string& module = "") {
    char line[256];
    snprintf(line, sizeof(line), "%016lx %c %s", address, type, name.c_str());
    symbols_ += line + (module.empty() ? "" : "\t[" + module + "]") + "\n";
  }
  void Module(const std::string& name, uint64_t start, uint64_t size,
              std::vector<uint8_t> build_id) {
    char line[256];
    snprintf(line, sizeof(line), "%s %lu 0 - Live 0x%016lx (O)\n", name.c_str(), size, start);
    modules_ += line;
    const std::string notes = root_ + "/module/" + name + "/notes";
    std::filesystem::create_directories(notes);
    if (!build_id.empty()) Notes(notes + "/.note.gnu.build-id", build_id);
  }
  void ClearSymbols() { symbols_.clear(); }
  // Takes the lines with `text` in them away.
  void RemoveSymbols(const std::string& text) { RemoveLines(text, &symbols_); }
  void RemoveModule(const std::string& name) {
    RemoveLines(name + " ", &modules_);
    RemoveSymbols("[" + name + "]");
  }
  KernelSymbolFiles files() const {
    return {root_ + "/kallsyms", root_ + "/modules", root_ + "/notes", root_ + "/module"};
  }
  absl::StatusOr<KernelSymbols> Load(std::unique_ptr<CodeEvents> events = nullptr) {
    Write();
    return KernelSymbols::Load(files(), std::move(events));
  }
  void Write() {
    std::ofstream(files().kallsyms) << symbols_;
    std::ofstream(files().modules) << modules_;
  }

 private:
  static void RemoveLines(const std::string& text, std::string* lines) {
    for (size_t at = lines->find(text); at != std::string::npos; at = lines->find(text)) {
      const size_t before = lines->rfind('\n', at),
                   start = before == std::string::npos ? 0 : before + 1;
      lines->erase(start, lines->find('\n', at) + 1 - start);
    }
  }
  static void Notes(const std::string& path, const std::vector<uint8_t>& build_id) {
    std::string note = {4,   0,   0,   0, static_cast<char>(build_id.size()), 0, 0, 0, 3, 0, 0, 0,
                        'G', 'N', 'U', 0};
    note.append(build_id.begin(), build_id.end());
    std::ofstream(path, std::ios::binary) << note;
  }
  const TemporaryDirectory directory_;
  const std::string& root_ = directory_.path();
  std::string symbols_, modules_;
};

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_KERNEL_FAKE_KERNEL_H_
