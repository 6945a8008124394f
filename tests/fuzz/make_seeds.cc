// Writes the fuzz targets' seeds, made from this very machine and of further files: make_seeds FOLDER [FILE…]
// Small real ELF files, the vDSO, a made one with Go's table, kernel text files as /proc has them, unwind pages, SFrame
// sections, a process context. Every target
// gets all of them: what means nothing to one is cheap.
#include <elf.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "symbolizer/cfi/cfi_source.h"
#include "tests/symbolizer/cfi/frame_file.h"
#include "tests/symbolizer/cfi/sframe_file.h"
#include "tests/symbolizer/go/made_go_file.h"

namespace {

using Bytes = std::vector<uint8_t>;
constexpr size_t kMaxSeedBytes = 160 << 10;

Bytes ReadPart(const char* path, size_t limit_bytes) {
  Bytes bytes(limit_bytes);
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

// Its size is where its section headers end.
Bytes VdsoImage() {
  const auto* image = reinterpret_cast<const uint8_t*>(getauxval(AT_SYSINFO_EHDR));
  if (image == nullptr) return {};
  Elf64_Ehdr header;
  std::memcpy(&header, image, sizeof(header));
  const size_t size = header.e_shoff + static_cast<size_t>(header.e_shnum) * header.e_shentsize;
  return size > kMaxSeedBytes ? Bytes() : Bytes(image, image + size);
}

Bytes FirstLines(const char* path, size_t limit_bytes) {
  Bytes text = ReadPart(path, limit_bytes);
  const auto newline = std::find(text.rbegin(), text.rend(), '\n');
  text.resize(static_cast<size_t>(text.rend() - newline));
  return text;
}

Bytes FirstUnwindPage(const Bytes& file) {
  const stackray::MemorySource source(file);
  const absl::StatusOr<stackray::ElfImage> elf = stackray::ElfImage::Create(source);
  if (!elf.ok()) return {};
  absl::StatusOr<stackray::UnwindTables> tables = stackray::UnwindTables::Create(source, *elf);
  if (!tables.ok()) return {};
  const absl::StatusOr<Bytes> blob = tables->BuildPage(tables->pages().first_page);
  if (!blob.ok()) return {};
  Bytes seed(4);  // page_blob_fuzz: where the blob lies.
  seed.insert(seed.end(), blob->begin(), blob->end());
  return seed;
}

// A section of each version with rows of each kind: sframe_fuzz.
Bytes SframeSection(uint8_t version) {
  stackray::SframeFile file{.version = version, .functions = {}};
  for (uint64_t i = 0; i < 6; ++i)
    file.functions.push_back({.address = stackray::FrameFile::kTextAddress + i * 96,
                              .size_bytes = 64,
                              .rows = {{.words = {8}},
                                       {.begin = 4, .words = {16, -16}, .word_bytes = 2},
                                       {.begin = 9, .from_sp = false, .words = {16, -16}}},
                              .address_type = static_cast<unsigned>(i % 3),
                              .repeats = i == 5});
  if (version == 3) {
    file.functions[4].kind = 1;
    file.functions[4].rows[0].words = {stackray::AtRegister(6), -8, 0, stackray::AtRegister(6), 0};
  }
  return file.Build(stackray::FrameFile().sframe_address());
}

// Behind each other: a mapping's line, a header, and a payload with a value of each kind.
constexpr std::string_view kContextLine =
    "7f6192db8000-7f6192dba000 rw-p 00000000 00:01 568267    /memfd:OTEL_CTX (deleted)\n";
constexpr std::string_view kContextHeader(
    "OTEL_CTX\2\0\0\0\x60\0\0\0\1\0\0\0\0\0\0\0\0\x80\xdb\x92\x61\x7f\0\0", 32);
constexpr std::string_view kContextPayload(
    "\x0a\x4e"
    "\x0a\x16\x0a\x0cservice.name\x12\x06\x0a\x04shop"
    "\x0a\x0a\x0a\x04live\x12\x02\x10\x01"
    "\x0a\x0b\x0a\x05ports\x12\x02\x18\x50"
    "\x0a\x11\x0a\x04load\x12\x09\x21\0\0\0\0\0\0\xd0\x3f"
    "\x0a\x08\x0a\x02no\x12\x02\x2a\0",
    80);

Bytes OfText(std::string_view text) { return {text.begin(), text.end()}; }

void Write(const std::filesystem::path& folder, const std::string& name, const Bytes& bytes) {
  if (bytes.empty()) return;
  std::ofstream file(folder / name, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count < 2) return 2;
  const std::filesystem::path folder = arguments[1];
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  Write(folder, "vdso.elf", VdsoImage());
  for (int i = 2; i < argument_count; ++i)
    Write(folder, "given" + std::to_string(i) + ".elf", ReadPart(arguments[i], kMaxSeedBytes));
  uint64_t text_address = 0;
  Write(folder, "go.elf", stackray::test::MadeGoFile().Build(&text_address));
  int number = 0;
  for (const char* path : {"/bin/true", "/bin/cat", "/lib/x86_64-linux-gnu/libgcc_s.so.1",
                           "/lib/x86_64-linux-gnu/libdl.so.2"}) {
    const Bytes file = ReadPart(path, kMaxSeedBytes);
    Write(folder, "elf_" + std::to_string(++number), file);
    Write(folder, "page_" + std::to_string(number), FirstUnwindPage(file));
  }
  for (const char* path : {"/proc/kallsyms", "/proc/modules", "/proc/self/maps", "/proc/self/stat",
                           "/proc/self/cgroup", "/proc/self/mountinfo"})
    Write(folder, "text_" + std::to_string(++number), FirstLines(path, 8 << 10));
  for (const uint8_t version : {1, 2, 3})
    Write(folder, "sframe_" + std::to_string(version), SframeSection(version));
  Write(folder, "context_line", OfText(kContextLine));
  Write(folder, "context_header", OfText(kContextHeader));
  Write(folder, "context_payload", OfText(kContextPayload));
  int swift = 0;
  for (const std::string_view name :
       {"$sSTsSL7ElementRpzrlE6sortedSayABGyFSbAB_ABtcfu_TA",
        "$sSa12arrayLiteralSayxGxd_tcfCs5Int64V_Tg5",
        "$sScs12ContinuationV11TerminationOyxq___GytIeghnr_AEIeghn_s5ErrorR_r0_lTRTA",
        "$s4main007p_qcaDcoiyS2i_SitF", "$s4main5outeryyF5innerL_yyFyycfU0_"})
    Write(folder, "swift_" + std::to_string(++swift), OfText(name));
  Write(folder, "ascending", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0xff, 3, 200, 12, 250, 13});
  return std::filesystem::is_empty(folder, error) ? 1 : 0;
}
