#include "tests/agent/sampling/sampled_world.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "kernel/process_files.h"
#include "kernel/unique_fd.h"

extern char** environ;

namespace stackray::test {
namespace {

constexpr size_t kKernelLines = 6000;

size_t FileRanges(const std::vector<code_range>& ranges) {
  return static_cast<size_t>(std::count_if(ranges.begin(), ranges.end(), [](const code_range& r) {
    return r.kind == RANGE_FILE && r.file_size_bytes > 0;
  }));
}

}  // namespace

bool CanOpenMappedFiles() {
  const auto ranges = ReadExecutableRanges(static_cast<uint32_t>(getpid()));
  return ranges.ok() && FileRanges(*ranges) > 0;
}

ChildProcess::ChildProcess(const std::string& program, const std::vector<std::string>& arguments,
                           const std::string& path, bool vanish) {
  std::error_code error;
  const std::string executable = path.empty() ? program : path;
  if (!path.empty()) std::filesystem::copy_file(program, path, error);
  std::vector<std::string> texts = {executable};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& text : texts) argv.push_back(text.data());
  argv.push_back(nullptr);
  if (posix_spawn(&pid_, executable.c_str(), nullptr, nullptr, argv.data(), environ) != 0) return;
  alive_ = true;
  // Until its libraries are there and nothing changes any more.
  for (int i = 0; i < 500; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    absl::StatusOr<std::vector<code_range>> now = ReadExecutableRanges(pid());
    if (!now.ok()) break;
    const bool settled = FileRanges(*now) >= 3 && now->size() == ranges_.size();
    ranges_ = *std::move(now);
    if (settled || !CanOpenMappedFiles()) break;
  }
  if (vanish) std::filesystem::remove(executable, error);
}

void ChildProcess::Kill() {
  if (!alive_) return;
  alive_ = false;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

uint64_t StartTimeOf(uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  return std::stoull(field) * (1'000'000'000 / static_cast<uint64_t>(sysconf(_SC_CLK_TCK)));
}

MappedFiles::MappedFiles(const std::string& directory) {
  std::error_code error;
  const std::string self = std::filesystem::read_symlink("/proc/self/exe", error).string();
  stripped_path_ = directory + "/stripped";
  if (std::system(("strip -o '" + stripped_path_ + "' '" + self + "' 2>/dev/null").c_str()) == 0)
    Map(stripped_path_);
  std::ofstream(directory + "/text") << std::string(20'000, 'x');
  Map(directory + "/text");
  std::filesystem::copy_file("/bin/cat", directory + "/deleted", error);
  Map(directory + "/deleted");
  std::filesystem::remove(directory + "/deleted", error);
}

MappedFiles::~MappedFiles() {
  for (const auto& [address, bytes] : mapped_) munmap(address, bytes);
}

// The whole file in one piece, so offsets in the file are offsets in the range.
void MappedFiles::Map(const std::string& path) {
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat info;
  if (!fd.valid() || fstat(fd.get(), &info) != 0) return;
  const auto bytes = static_cast<size_t>(info.st_size);
  void* address = mmap(nullptr, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd.get(), 0);
  if (address != MAP_FAILED) mapped_.emplace_back(address, bytes);
}

code_range MissingFileRange(uint64_t inode) {
  code_range range = {};
  range.kind = RANGE_FILE;
  range.file = {.inode = inode, .device = 0xfff00001, .generation = 7};
  range.file_size_bytes = 1 << 20;
  range.file_mtime_s = 1'600'000'000;
  range.start = 0x10000000 + inode * 0x100000;
  range.end = range.start + 0x80000;
  range.file_offset = 0x1000;
  return range;
}

code_range JitRange() {
  code_range range = {};
  range.kind = RANGE_ANON;
  range.start = range.file_offset = 0x7eff00000000;
  range.end = range.start + 0x100000;
  return range;
}

std::optional<KernelWorld> MakeKernelWorld(const std::string& directory) {
  std::ifstream all("/proc/kallsyms");
  KernelWorld world;
  world.files.kallsyms = directory + "/kallsyms";
  world.files.modules = directory + "/modules";
  std::ofstream(world.files.modules) << "";
  std::ofstream some(world.files.kallsyms);
  std::string line;
  size_t lines = 0;
  while (std::getline(all, line)) {
    std::istringstream fields(line);
    std::string address, type, name;
    fields >> address >> type >> name;
    const bool text = type == "T" || type == "t";
    if (!text || (++lines > kKernelLines && name != "_etext")) continue;
    some << line << "\n";
    const uint64_t at = std::stoull(address, nullptr, 16);
    if (at == 0) return std::nullopt;
    if (lines < kKernelLines && lines % 16 == 0) world.addresses.push_back(at + 1);
  }
  if (world.addresses.empty()) return std::nullopt;
  return world;
}

}  // namespace stackray::test
