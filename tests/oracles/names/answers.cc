// What stackray says of addresses of one file, as a batch would have it, in the form in which
// llvm-symbolizer answers: for each address read from standard input the frames, innermost first, a
// line of the function's name (mangled, "??" where it has none) and one of FILE:LINE:COLUMN; then
// an empty line.
//
//   name_answers ROOT PATH    ROOT: where debug files are looked for, "/" or a folder that stands
//   for it; PATH: in ROOT
//
// To standard error: how much CPU time it took and how much memory stays.
#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>

#include "symbolizer/frame_names.h"
#include "symbolizer/source_lines.h"
#include "tests/symbolizer/executable.h"

namespace stackray::test {
namespace {

constexpr size_t kNameCacheBytes = 4 << 20;

void Print(const std::vector<SourceLine>& lines) {
  if (lines.empty()) fmt::print("??\n??:0:0\n");
  for (const SourceLine& line : lines) {
    const std::string& name = line.system_name.empty() ? line.function : line.system_name;
    fmt::print("{}\n{}:{}:{}\n", name.empty() ? "??" : name, line.file.empty() ? "??" : line.file,
               line.line, line.column);
  }
  fmt::print("\n");
}

int Answer(const std::string& root, const std::string& path) {
  const ExecutableFilePtr file = OpenExecutable(root, path, 1);
  if (file == nullptr || !file->info.is_elf) {
    fmt::print(stderr, "{}: no ELF file\n", path);
    return 1;
  }
  SourceLines lines({.own_root = root, .proc = "/no-such-directory"});
  FrameNames names(kNameCacheBytes);
  uint64_t asked = 0;
  const std::clock_t begin = std::clock();
  for (std::string text; std::getline(std::cin, text); ++asked) {
    const uint64_t address = std::stoull(text, nullptr, 16);
    Print(WithOwnName(lines.Resolve(1, file, address),
                      names.Resolve(file->handle, *file->source, address)));
  }
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  fmt::print(stderr, "{} asked, {:.2f} s of CPU, {} kB\n", asked, seconds,
             (lines.bytes() + names.bytes()) / 1024);
  return 0;
}

}  // namespace
}  // namespace stackray::test

int main(int argc, char** argv) {
  if (argc == 3) return stackray::test::Answer(argv[1], argv[2]);
  fmt::print(stderr, "usage: name_answers ROOT PATH < ADDRESSES\n");
  return 2;
}
