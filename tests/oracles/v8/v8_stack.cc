// v8_stack PID STOPS: stops a Node or Deno process's main thread STOPS times, follows its frame
// pointers by ptrace alone, and prints what our naming says of each JavaScript frame:
//   stop
//   KIND<tab>FUNCTION<tab>FILE<tab>LINE<tab>COLUMN<tab>IS_LEAF
// It shares the naming with the agent, and nothing of the walk.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "interpreters/paged_memory.h"
#include "interpreters/v8/builtins.h"
#include "interpreters/v8/compiled_code.h"
#include "interpreters/v8/function_names.h"
#include "symbolizer/byte_source.h"
#include "symbolizer/elf_image.h"

namespace stackray::v8 {
namespace {

constexpr int kMostFrames = 2000;

struct Mapping {
  uint64_t begin = 0, end = 0, offset = 0;
  bool is_executable = false, has_file = false;
  std::string path;
};

std::vector<Mapping> ReadMaps(pid_t pid) {
  std::vector<Mapping> maps;
  std::ifstream file(fmt::format("/proc/{}/maps", pid));
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string range, permissions, offset, device, inode, path;
    words >> range >> permissions >> offset >> device >> inode >> path;
    const size_t dash = range.find('-');
    maps.push_back({.begin = std::stoull(range.substr(0, dash), nullptr, 16),
                    .end = std::stoull(range.substr(dash + 1), nullptr, 16),
                    .offset = std::stoull(offset, nullptr, 16),
                    .is_executable = permissions[2] == 'x',
                    .has_file = inode != "0",
                    .path = path});
  }
  return maps;
}

struct Walker {
  pid_t pid;
  std::string exe;
  const V8Layout& layout;
  const Builtins& builtins;
  ScriptCache scripts = {};
  LiveProcessMemory memory{static_cast<uint32_t>(pid)};
  std::vector<Mapping> maps = {};

  const Mapping* MapOf(uint64_t pc) const {
    for (const Mapping& map : maps)
      if (pc >= map.begin && pc < map.end) return map.is_executable ? &map : nullptr;
    return nullptr;
  }
  const Builtin* BuiltinAt(uint64_t pc) const {
    const Mapping* const map = MapOf(pc);
    return map != nullptr && map->path == exe ? builtins.At(pc - map->begin + map->offset)
                                              : nullptr;
  }
  bool IsMade(uint64_t pc) const {
    const Mapping* const map = MapOf(pc);
    return map != nullptr && !map->has_file && map->path.empty();
  }
  uint64_t Word(uint64_t at) { return ReadNumber<uint64_t>(memory, at); }
  static const char* KindOf(const std::optional<CodeObject>& code) {
    if (!code) return "nothing";
    switch (code->kind) {
      case CodeObject::Kind::kBuiltin: return "copy";
      case CodeObject::Kind::kRegExp: return "regexp";
      case CodeObject::Kind::kBaseline: return "baseline";
      case CodeObject::Kind::kOptimized: return code->is_maglev ? "maglev" : "turbofan";
      default: return "other";
    }
  }
  void Print(const char* kind, const V8Frame& frame, bool is_leaf);
  void PrintFrame(uint64_t pc, uint64_t fp, bool is_leaf);
  void PrintStack(uint64_t pc, uint64_t fp, uint64_t sp);
  bool IsChain(uint64_t at, int count);
};

void Walker::Print(const char* kind, const V8Frame& frame, bool is_leaf) {
  const auto code = ReadV8Code(memory, layout, scripts, frame);
  if (!code.ok()) {
    fmt::print("{}\t[{}]\t\t0\t0\t{}\n", kind, std::string(code.status().message()), int{is_leaf});
    return;
  }
  bool is_inner = is_leaf;
  for (const SourceLine& line : (*code)->LinesAt(frame.bytecode_offset)) {
    fmt::print("{}\t{}\t{}\t{}\t{}\t{}\n", kind, line.function, line.file, line.line, line.column,
               int{is_inner});
    kind = "caller";
    is_inner = false;
  }
}

void Walker::PrintFrame(uint64_t pc, uint64_t fp, bool is_leaf) {
  V8Frame frame{.pc = pc, .is_return = !is_leaf};
  const uint64_t context = Word(fp - 8), function = Word(fp - layout.function_slot);
  const bool is_marker = (context & 1) == 0 && context < 128;
  const Builtin* const builtin = BuiltinAt(frame.is_return ? pc - 1 : pc);
  Heap heap(memory, layout);
  const uint64_t shared = heap.Word(function, layout.function_shared);
  frame.shared_function = IsObject(shared) ? shared - 1 : 0;
  if (frame.shared_function != 0) {
    frame.check = heap.Number<uint32_t>(shared, layout.shared_identity());
    frame.check_mask = ~uint32_t{0};
  }
  if (builtin != nullptr) {
    if (is_marker || (builtin->name.find("InterpreterEntryTrampoline") == std::string::npos &&
                      !builtin->name.ends_with("Handler"))) {
      fmt::print("builtin\t{}\t\t0\t0\t{}\n", builtin->name, int{is_leaf});
      return;
    }
    frame.kind = V8Frame::Kind::kInterpreted;
    const uint64_t offset = Word(fp - layout.offset_slot);
    frame.bytecode_offset = IsSmi(offset) ? SmiValue(offset) - (layout.bytecode_header - 1) : -1;
    Print("interpreted", frame, is_leaf);
    return;
  }
  if (is_marker && context == layout.wasm_marker()) {
    frame.kind = V8Frame::Kind::kWasm;
    frame.instance = function - 1;
    Print("wasm", frame, is_leaf);
    return;
  }
  frame.kind = is_marker ? V8Frame::Kind::kStub : V8Frame::Kind::kCompiled;
  Print(KindOf(FindCode(heap, is_leaf ? pc : pc - 1)), frame, is_leaf);
}

// Is there a chain of frames from this frame record on?
bool Walker::IsChain(uint64_t at, int count) {
  for (int i = 0; i < count; ++i) {
    const uint64_t next = Word(at), pc = Word(at + 8);
    if (next <= at || next - at > (1 << 20) || MapOf(pc) == nullptr) return false;
    if (i == 0 && BuiltinAt(pc) == nullptr && !IsMade(pc)) return false;
    at = next;
  }
  return true;
}

void Walker::PrintStack(uint64_t pc, uint64_t fp, uint64_t sp) {
  maps = ReadMaps(pid);
  fmt::print("stop\n");
  bool is_leaf = BuiltinAt(pc) != nullptr || IsMade(pc);
  if (!is_leaf) {  // In C++, which may use the frame pointer for something else.
    uint64_t at = fp;
    for (int i = 0; i < kMostFrames && at != 0 && !IsChain(at, 3); ++i) at = Word(at);
    // What was on the stack before may look like a chain too.
    if (at == 0 || !IsChain(at, 3)) at = sp & ~uint64_t{7};
    for (int i = 0; i < 65536 && !IsChain(at, 3); ++i) at += 8;
    pc = Word(at + 8);
    fp = Word(at);
  }
  for (int i = 0; i < kMostFrames; ++i) {
    if (BuiltinAt(pc) != nullptr || IsMade(pc)) PrintFrame(pc, fp, is_leaf);
    is_leaf = false;
    const uint64_t next = Word(fp);
    pc = Word(fp + 8);
    if (next <= fp || pc == 0) break;
    fp = next;
  }
}

int Run(pid_t pid, int stops) {
  const std::string exe = fmt::format("/proc/{}/exe", pid);
  const int fd = open(exe.c_str(), O_RDONLY | O_CLOEXEC);
  const off_t size = lseek(fd, 0, SEEK_END);
  if (size <= 0) return 2;
  const FdSource source(fd, static_cast<uint64_t>(size));
  const auto image = ElfImage::Create(source);
  if (!image.ok()) return 2;
  RuntimeFile file(*image, source, "", IsLayoutSymbol);
  file.AddAllSymbols(IsLayoutSymbol);
  const auto layout = ReadLayout(file);
  if (!layout.ok() || !layout->is_supported) {
    fmt::print(stderr, "{}\n", layout.ok() ? layout->reason : layout.status().ToString());
    return 2;
  }
  const auto builtins = Builtins::Read(*image, source);
  if (!builtins.ok()) {
    fmt::print(stderr, "{}\n", builtins.status().ToString());
    return 2;
  }
  char path[4096] = {};
  if (readlink(exe.c_str(), path, sizeof(path) - 1) < 0) return 2;
  Walker walker{.pid = pid, .exe = path, .layout = *layout, .builtins = *builtins};
  if (ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) return 2;
  for (int i = 0; i < stops; ++i) {
    usleep(10'000 + static_cast<useconds_t>(i * 7'919 % 20'000));
    int status = 0;
    user_regs_struct registers = {};
    if (ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) != 0 || waitpid(pid, &status, __WALL) < 0 ||
        !WIFSTOPPED(status) || ptrace(PTRACE_GETREGS, pid, nullptr, &registers) != 0)
      break;
    walker.PrintStack(registers.rip, registers.rbp, registers.rsp);
    std::fflush(stdout);
    ptrace(PTRACE_CONT, pid, nullptr, nullptr);
  }
  return 0;
}

}  // namespace
}  // namespace stackray::v8

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  return stackray::v8::Run(std::atoi(argv[1]), std::atoi(argv[2]));
}
