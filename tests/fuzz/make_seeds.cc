// Writes the fuzz targets' seeds, made from this very machine and of further files or folders of
// files: make_seeds FOLDER [FILE…] Small real ELF files, among them the gallery's programs, the
// vDSO, a made one with Go's table, kernel text files as /proc has them, unwind pages, SFrame
// sections, a process context, a batch and the files that hold one, and the gallery's recordings by
// their numbers (edited_recording.h). Every target gets all of them: what means nothing to one is
// cheap.
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
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/shared/records.h"
#include "reporter/spool/spool_file.h"
#include "symbolizer/cfi/cfi_source.h"
#include "tests/reporter/golden_batch.h"
#include "tests/symbolizer/cfi/frame_file.h"
#include "tests/symbolizer/cfi/sframe_file.h"
#include "tests/symbolizer/go/made_go_file.h"

namespace {

using Bytes = std::vector<uint8_t>;
constexpr size_t kMaxSeedBytes = 160 << 10;
constexpr int kRecordings = 80;  // The gallery's walks are the most.

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

// Mangled names of each language: symbol_table_fuzz.
constexpr std::string_view kMangledNames[] = {
    "$s20FoundationEssentials17PredicateBindingsVyAcA0C11ExpressionsO8VariableVy_xG_xtxQpcRvzlufC",
    "$ss21_ObjectiveCBridgeableP026_unconditionallyBridgeFromA1Cyx01_A5CTypeQzSgFZTj",
    "$s10Foundation10FileHandleC06_checkbC033_2DF8E09821905D55FA342549A73ACFB7LLyyF",
    "$s10Foundation014_CFErrorSPIForA10XMLUseOnlyV018unsafelyAssumingIsB0ACyXl_tcfC",
    "$ss13_FixedArray16VyxGSlsSl5index_8offsetBy07limitedE05IndexQzSgAH_SiAHtFTW",
    "$sScs12ContinuationV11TerminationOyxq___GytIeghnr_AEIeghn_s5ErrorR_r0_lTRTA",
    "$s20FoundationNetworking17HTTPCookieStorageC9setCookieyyAA0C0CFyyXEfU_TA",
    "$ss18LazyFilterSequenceV6filteryAByxGSb7ElementQzcFSbAFcfU_TA",
    "$sSa9removeAll15keepingCapacityySb_tFfA_SS9UTF16ViewV_Tg5",
    "$s10Foundation20PersonNameComponentsV06middleC0SSSgvpfi",
    "$sScS8_StorageC4nextxSgyYaFyyYbcAByx_Gcfu_yyYbcfu0_TA",
    "$sSTsSL7ElementRpzrlE6sortedSayABGyFSbAB_ABtcfu_TA",
    "$s10Foundation026NSPersonNameComponentGivenC0SSvau",
    "$s20FoundationEssentials6LocaleV8CurrencyVSgWOhTm",
    "$s7ElementSciQzSbIegHnr_ABSbIegHnd_SciRzlTRTATQ0_",
    "$s10Foundation10CGRectEdgeO8rawValues6UInt32Vvg",
    "$sSa12arrayLiteralSayxGxd_tcfCs5Int64V_Tg5",
    "$ss10ArraySliceVys5UInt8VGAByxGSmsWlTm",
    "$ss4SIMDPsSF6ScalarRpzrlE1moiyxx_xtFZ",
    "$s12_RegexParser3ASTV4AtomVSHAASQWb",
    "$s4main5outeryyF5innerL_yyFyycfU0_",
    "$ss15UnboundedRange_O3zzzoPyyABFZ",
    "$ss7_Int128VSjs9MagnitudeSj_SLWT",
    "$s4main3fooyyF5InnerL_V3baryyF",
    "$sSa12_endMutationyyFyXl_Ts5",
    "$s4main007p_qcaDcoiyS2i_SitF",
    "$s4main3foo1aySi1b_SS1ct_tF",
    "$s4main3fooyyF3barL0_yySiF",
    "$s4main0012vergenza_JFayyF",
    "$s5Glibc4log2yS2fFTJrSpSr",
    "$sSaySiGSayxGSEsSERzlWlTm",
    "$s4main12vergenza_JFayyF",
    "$s5Glibc11DBL_MAX_EXP_WZ",
    "$s99999999999999999999a",
    "$s4main3fooyyF.cold.1",
    "$s4main1CC1d1xySi_tF",
    "$s4main3fooyyYaFTY0_",
    "$sSDyxq_GSHsSHR_rlWI",
    "$sSD5IndexVyS2S_Gwet",
    "$s4main3fooyyYaFTu",
    "_ZNSt6vectorIiSaIiEE9push_backERKi",
    "_ZZN3foo3barEvENKUlvE_clEv.cold",
    "_RNvCs15kBYyAo9fc_7mycrate7example",
    "_RINvNtC3std3mem8align_ofNtNtC3std3mem12DiscriminantE",
    "_ZN4core3fmt9Formatter3pad17h0123456789abcdefE",
    "_D3std5stdio4File6__ctorMFNcAyaxAaZSQBdQBcQxQu",
    "_D4test3fooFiZv",
    "camlStdlib__List__map_1234",
    "camlMain.entry",
    "main.(*T).String",
    "go.shape.int_0",
    "malloc@plt",
};

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

// As batch_file_fuzz and spool_file_fuzz take it: the file that holds one batch.
Bytes BatchFile(const std::string& batch) {
  const auto size = static_cast<uint32_t>(batch.size());
  return OfText(std::string{static_cast<char>(size >> 24), static_cast<char>(size >> 16),
                            static_cast<char>(size >> 8), static_cast<char>(size)} +
                batch);
}

Bytes SpoolFile(const std::string& batch, const stackray::BatchTrace& trace = {}) {
  const std::string header = stackray::EncodeSpoolHeader(
      {.bytes = batch, .items = 2, .start_unix_ns = 1000, .duration_ns = 500, .trace = trace});
  return OfText(std::string(1, '\0') + header + batch);
}

void Write(const std::filesystem::path& folder, const std::string& name, const Bytes& bytes) {
  if (bytes.empty()) return;
  std::ofstream file(folder / name, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

// Go's depths of its stack, in assembler and in compiled code, of both architectures.
void WriteGoFrames(const std::filesystem::path& folder) {
  constexpr size_t kMachine = 18;  // Where e_machine is.
  constexpr uint8_t kAssembler = 4, kWritesSp = 2;
  int number = 0;
  for (const uint8_t flags : {uint8_t{0}, kAssembler, uint8_t{kAssembler | kWritesSp}}) {
    for (const char* name : {"main.first", "runtime.systemstack", "runtime.mcall"}) {
      stackray::test::MadeGoFile file;
      file.first_name = name;
      file.first_flags = flags;
      file.depths.U8(2).U8(4).U8(2 * 24).U8(40).U8(2 * 24 - 1).U8(20).U8(0);
      uint64_t text_address = 0;
      Bytes bytes = file.Build(&text_address);
      Write(folder, "go_frames_" + std::to_string(++number) + ".elf", bytes);
      bytes[kMachine] = EM_AARCH64;
      Write(folder, "go_frames_" + std::to_string(++number) + ".elf", bytes);
    }
  }
}

// This file, its unwind rules hidden: what is looked for in code that has none.
Bytes WithoutRules(Bytes file) {
  constexpr std::string_view kSection = ".eh_frame";
  constexpr uint32_t kSegment = PT_GNU_EH_FRAME;
  const auto hide = [&](const void* what, size_t size) {
    const auto* begin = static_cast<const uint8_t*>(what);
    for (auto at = file.begin();
         (at = std::search(at, file.end(), begin, begin + size)) != file.end(); ++at)
      *at ^= 1;
  };
  hide(kSection.data(), kSection.size());
  hide(&kSegment, sizeof(kSegment));
  return file;
}

// This file without section headers: symbols are found as the dynamic loader finds them.
Bytes WithoutSections(Bytes file) {
  Elf64_Ehdr header;
  if (file.size() < sizeof(header)) return {};
  std::memcpy(&header, file.data(), sizeof(header));
  header.e_shoff = header.e_shnum = header.e_shstrndx = 0;
  std::memcpy(file.data(), &header, sizeof(header));
  return file;
}

template <typename Record>
Bytes RecordBytes(Record record, uint16_t type, size_t names_bytes) {
  Bytes bytes(sizeof(record) + names_bytes);
  record.header = {RECORD_LAYOUT_VERSION, type, static_cast<u32>(bytes.size()), 1};
  std::memcpy(bytes.data(), &record, sizeof(record));
  return bytes;
}

// ring_record_fuzz: one of each kind but samples, which it makes itself.
void WriteRecords(const std::filesystem::path& folder) {
  miss_record miss = {.offset = 64, .range = {}};
  miss.range.end = 4096;
  miss.range.kind = RANGE_FILE;
  Write(folder, "record_miss", RecordBytes(miss, RECORD_MISS, 0));
  process_record exec = {};
  exec.path_bytes = 8;
  exec.cgroup_bytes = 8;
  Bytes event = RecordBytes(exec, RECORD_EXEC, 16);
  std::memcpy(event.data() + sizeof(exec), "ls\0bin\0\0web\0app", 16);
  Write(folder, "record_exec", event);
  code_record code = {.code = 1, .check = 2, .piece_count = 2};
  code.pieces[0] = {.address = 4096, .bytes = 12};
  code.pieces[1] = {.address = 8192, .bytes = 8};
  Write(folder, "record_code", RecordBytes(code, RECORD_CODE, 24));
  Write(folder, "record_wait_end",
        RecordBytes(wait_end_record{.tid = 7, .out_ns = 1}, RECORD_WAIT_END, 0));
  Write(folder, "record_waited",
        RecordBytes(waited_record{.tid = 7, .waited_ns = {1, 2}}, RECORD_WAITED, 0));
  const auto stack = std::make_unique<stack_record>();
  stack->bytes_used = 64;
  Write(folder, "record_stack", RecordBytes(*stack, RECORD_STACK, 0));
}

// debug_file_fuzz: a file and its split units behind it.
void WriteWithSplitUnits(const std::filesystem::path& folder, const std::filesystem::path& path) {
  Bytes both = ReadPart(path.c_str(), kMaxSeedBytes);
  const auto at = static_cast<uint32_t>(both.size());
  const Bytes split = ReadPart((path.string() + ".dwo").c_str(), kMaxSeedBytes);
  both.insert(both.end(), split.begin(), split.end());
  for (int shift = 0; shift < 32; shift += 8) both.push_back(static_cast<uint8_t>(at >> shift));
  Write(folder, "given_both_" + path.filename().string(), both);
}

// Whole, or not at all: half a file is no file.
void WriteGiven(const std::filesystem::path& folder, const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_regular_file(path) &&
      std::filesystem::file_size(path, error) <= kMaxSeedBytes)
    Write(folder, "given_" + path.filename().string() + ".elf",
          ReadPart(path.c_str(), kMaxSeedBytes));
  if (std::filesystem::exists(path.string() + ".dwo")) WriteWithSplitUnits(folder, path);
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count < 2) return 2;
  const std::filesystem::path folder = arguments[1];
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  Write(folder, "vdso.elf", VdsoImage());
  for (int i = 2; i < argument_count; ++i) {
    if (!std::filesystem::is_directory(arguments[i])) {
      WriteGiven(folder, arguments[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(arguments[i]))
      WriteGiven(folder, entry.path());
  }
  uint64_t text_address = 0;
  Write(folder, "go.elf", stackray::test::MadeGoFile().Build(&text_address));
  WriteGoFrames(folder);
  int number = 0;
  for (const char* path :
       {"/bin/true", "/bin/cat", "/lib/x86_64-linux-gnu/libgcc_s.so.1",
        "/lib/x86_64-linux-gnu/libdl.so.2", "/usr/aarch64-linux-gnu/lib/libdl.so.2",
        "/usr/aarch64-linux-gnu/lib/libgcc_s.so.1"}) {
    const Bytes file = ReadPart(path, kMaxSeedBytes);
    Write(folder, "elf_" + std::to_string(++number), file);
    Write(folder, "no_rules_" + std::to_string(number), WithoutRules(file));
    Write(folder, "no_sections_" + std::to_string(number), WithoutSections(file));
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
  int name_number = 0;
  for (const std::string_view name : kMangledNames)
    Write(folder, "name_" + std::to_string(++name_number), OfText(name));
  const std::string batch = stackray::GoldenBatch();
  Write(folder, "batch", OfText(batch));
  Write(folder, "batch_file", BatchFile(batch));
  Write(folder, "spool_file", SpoolFile(batch));
  for (uint8_t i = 0; i < kRecordings; ++i)
    Write(folder, "recording_" + std::to_string(i), {1, i, 0});
  WriteRecords(folder);
  Write(folder, "ascending", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0xff, 3, 200, 12, 250, 13});
  return std::filesystem::is_empty(folder, error) ? 1 : 0;
}
