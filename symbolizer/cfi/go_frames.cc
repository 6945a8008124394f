#include "symbolizer/cfi/go_frames.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace stackray::cfi {
namespace {

constexpr u16 kNone = CODE_SPECIAL(SPECIAL_NONE);
// Entries and steps of value tables that one page may cost; real pages need about 2,000.
constexpr int64_t kPageBudget = 1 << 20;
constexpr size_t kMaxDepths = 1 << 14;
constexpr uint64_t kMaxSpecialBytes = 4096;  // Of a function whose instructions are looked at.
constexpr size_t kMaxNameBytes = 64;
constexpr std::string_view kDetectorName = "runtime.racecallbackthunk";
constexpr uint64_t kScannedAtOnce = 64 << 10;
constexpr uint64_t kNeighbours = 160;  // Around systemstack all of asm_amd64.s, on either side.
constexpr int32_t kMaxDepth = 1 << 30;
constexpr uint8_t kReturnOfVfork = 12;

// A function's record (runtime2.go, _func): offsets of 4-byte fields, and of the two bytes behind
// them.
constexpr uint64_t kNameField = 4, kStackField = 16;
uint64_t KindField(GoVersion version) { return version == GoVersion::kGo118 ? 36 : 40; }
constexpr uint8_t kWritesSp = 2, kAssembler = 4;  // internal/abi: FuncFlagSPWrite, FuncFlagAsm.

template <typename T>
T Load(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof(value));
  return value;
}

ByteWindows Windows(const ByteSource& source, const FilePart& part, size_t slots, size_t bytes) {
  const uint64_t begin = std::min(part.offset, source.size_bytes());
  return {&source, begin, std::min(part.size_bytes, source.size_bytes() - begin), slots, bytes};
}

// The end of a stored rbp: mov %rbp, N(%rsp) with N right below the return address.
std::optional<uint64_t> EndOfStore(std::span<const uint8_t> text, uint64_t at, int32_t depth) {
  if (text.size() < 8 || at > text.size() - 8) return std::nullopt;
  const uint8_t* code = text.data() + at;
  if (code[0] != 0x48 || code[1] != 0x89 || code[3] != 0x24) return std::nullopt;
  if (code[2] == 0x6c && static_cast<int8_t>(code[4]) == depth - 8) return at + 5;
  if (code[2] == 0xac && Load<int32_t>(code + 4) == depth - 8) return at + 8;
  return std::nullopt;
}

}  // namespace

std::unique_ptr<GoFrames> GoFrames::Create(const ElfImage& image, const ByteSource& source) {
  if (!LooksLikeGo(image)) return nullptr;
  const absl::StatusOr<GoLayout> layout = FindGoLayout(image, source);
  if (!layout.ok() || layout->version == GoVersion::kGo116) return nullptr;
  return std::unique_ptr<GoFrames>(new GoFrames(source, *layout, image));
}

GoFrames::GoFrames(const ByteSource& source, const GoLayout& layout, const ElfImage& image)
    : source_(source),
      layout_(layout),
      is_arm64_(image.machine() == EM_AARCH64),
      functions_(Windows(source, layout.functions, 3, 4096)),
      values_(Windows(source, layout.values, 8, 1024)),
      names_(Windows(source, layout.names, 2, 1024)),
      program_entry_(FindFunction(image.entry()) ? image.entry() : 0) {}

std::optional<uint64_t> GoFrames::EntryAt(uint64_t number) {
  const uint8_t* entry = functions_.Get(number * 8, 4);
  if (entry == nullptr) return std::nullopt;
  return layout_.text_address + Load<uint32_t>(entry);
}

// The last function that begins at the address or before.
std::optional<uint64_t> GoFrames::FindFunction(uint64_t address) {
  const std::optional<uint64_t> first = EntryAt(0), end = EntryAt(layout_.function_count);
  if (!first || !end || address < *first || address >= *end) return std::nullopt;
  uint64_t low = 0, high = layout_.function_count;
  while (high - low > 1) {
    const uint64_t middle = low + (high - low) / 2;
    const std::optional<uint64_t> entry = EntryAt(middle);
    if (!entry) return std::nullopt;
    (*entry <= address ? low : high) = middle;
  }
  return low;
}

std::optional<GoFrames::Function> GoFrames::ReadFunction(uint64_t number) {
  if (number >= layout_.function_count) return std::nullopt;
  const std::optional<uint64_t> entry = EntryAt(number), end = EntryAt(number + 1);
  const uint8_t* place = functions_.Get(number * 8 + 4, 4);
  if (!entry || !end || *end < *entry || place == nullptr) return std::nullopt;
  const uint64_t kind = KindField(layout_.version);
  const uint8_t* record = functions_.Get(Load<uint32_t>(place), kind + 2);
  if (record == nullptr) return std::nullopt;
  return Function{.entry = *entry,
                  .end = *end,
                  .name = Load<uint32_t>(record + kNameField),
                  .stack = Load<uint32_t>(record + kStackField),
                  .kind = record[kind],
                  .flags = record[kind + 1]};
}

std::string GoFrames::ReadName(uint32_t offset) {
  std::string name;
  while (name.size() < kMaxNameBytes) {
    const uint8_t* byte = names_.Get(offset + name.size(), 1);
    if (byte == nullptr || *byte == 0) break;
    name += static_cast<char>(*byte);
  }
  return name;
}

// Pairs of numbers: by how much the value grows, and for how many bytes of code it then holds.
std::vector<GoDepth> GoFrames::ReadDepths(const Function& function) {
  std::vector<GoDepth> depths;
  uint64_t at = function.stack, pc = 0;
  const auto read = [&]() -> std::optional<uint32_t> {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
      const uint8_t* byte = values_.Get(at, 1);
      if (byte == nullptr) return std::nullopt;
      ++at;
      value |= uint64_t{*byte & 0x7fu} << shift;
      if (*byte < 0x80) return static_cast<uint32_t>(value);
    }
    return std::nullopt;
  };
  uint32_t depth = ~uint32_t{0};
  while (at != 0 && depths.size() < kMaxDepths && pc < function.end - function.entry &&
         budget_-- > 0) {
    const std::optional<uint32_t> change = read();
    if (!change || (*change == 0 && !depths.empty())) break;
    const std::optional<uint32_t> bytes = read();
    if (!bytes) break;
    depth += (*change & 1) != 0 ? ~(*change >> 1) : *change >> 1;
    depths.push_back({pc, static_cast<int32_t>(depth)});
    pc += uint64_t{*bytes} * layout_.quantum;
  }
  return depths;
}

std::vector<uint8_t> GoFrames::ReadText(const Function& function, const Piece& piece) {
  std::vector<uint8_t> text(std::min(function.end - function.entry, kMaxSpecialBytes));
  const uint64_t offset = piece.file_offset + (function.entry - piece.begin);
  if (!source_.ReadAt(offset, text).ok()) text.clear();
  return text;
}

// Bytes into the function from which on rbp lies right below the return address, wherever there is
// a frame. Compiled functions push it first (from Go 1.21 on), or make their whole frame and then
// store it. Of assembler the instructions say whether. ~0: never.
uint64_t GoFrames::SavedFrom(const Function& function, const std::vector<GoDepth>& depths,
                             const std::vector<uint8_t>& text) const {
  const auto frame = std::ranges::find_if(depths, [](const GoDepth& row) { return row.bytes > 0; });
  if (frame == depths.end()) return ~uint64_t{0};
  if (is_arm64_) {
    const bool is_stored = (function.flags & kAssembler) == 0 || StoresArm64GoFp(text, frame->pc);
    return is_stored ? frame->pc + 4 : ~uint64_t{0};
  }
  if ((function.flags & kAssembler) == 0)
    return frame->bytes == 8 ? frame->pc : frame->pc + (frame->bytes <= 135 ? 5 : 8);
  const uint64_t pc = frame->pc;
  if (const std::optional<uint64_t> end = EndOfStore(text, pc, frame->bytes)) return *end;
  const bool is_pushed = frame->bytes == 8 && pc >= 1 && pc <= text.size() &&
                         text[pc - 1] == 0x55 && (pc < 2 || text[pc - 2] != 0x41);
  return is_pushed ? pc : ~uint64_t{0};
}

std::optional<GoRuntime> GoFrames::RuntimeNear(uint64_t number, const Piece& piece) {
  for (uint64_t distance = 0; !runtime_ && distance < kNeighbours && budget_-- > 0; ++distance) {
    for (const uint64_t at : {number - distance, number + distance}) {
      const std::optional<Function> function = ReadFunction(at);
      if (!function || (function->flags & kAssembler) == 0 ||
          ReadName(function->name) != "runtime.systemstack")
        continue;
      const std::vector<uint8_t> text = ReadText(*function, piece);
      runtime_ = is_arm64_ ? ReadArm64GoRuntime(text) : ReadGoRuntime(text, function->entry);
      if (runtime_) return runtime_;
    }
  }
  return runtime_;
}

namespace {

// The return address is at sp, and x29 right below it. Without a frame, it is in x30.
u16 CodeOfArm64Depth(int32_t depth, bool saves_fp, RuleEncoder* encoder) {
  if (depth < 0 || depth > kMaxDepth || depth % ARM64_CFA_UNIT != 0)
    return CODE_SPECIAL(SPECIAL_UNSUPPORTED);
  if (depth == 0) return ARM64_BASE_SP << CODE_BASE_SHIFT;
  const int32_t units = depth / ARM64_CFA_UNIT;
  if (units <= CODE_CFA_MASK)
    return static_cast<u16>(ARM64_BASE_GO << CODE_BASE_SHIFT | units |
                            (saves_fp ? 1 << ARM64_SAVED_SHIFT : 0));
  return encoder->CodeOfRule(Arm64GoFrame(CFA_REGISTER, kRegisterArm64Sp, depth, depth, saves_fp));
}

u16 CodeOfX86Depth(int32_t depth, bool saves_rbp, RuleEncoder* encoder) {
  if (depth == -8) {  // syscall.rawVforkSyscall keeps its return address from the child, in r12.
    unwind_rule rule = {};
    rule.cfa_register = kRegisterRsp;
    rule.ra_kind = VALUE_REGISTER;
    rule.ra_register = kReturnOfVfork;
    return encoder->CodeOfRule(rule);
  }
  if (depth < 0 || depth > kMaxDepth || depth % 8 != 0) return CODE_SPECIAL(SPECIAL_UNSUPPORTED);
  const int32_t words = depth / 8 + 1;
  if (words <= CODE_CFA_MASK)
    return static_cast<u16>(CODE_BASE_RSP << CODE_BASE_SHIFT | words |
                            (saves_rbp ? 2 << CODE_RBP_SHIFT : 0));
  unwind_rule rule = {};
  rule.cfa_register = kRegisterRsp;
  rule.cfa_offset = depth + 8;
  rule.ra_kind = VALUE_AT_CFA;
  rule.ra_offset = -8;
  rule.rbp_kind = saves_rbp ? VALUE_AT_CFA : VALUE_SAME;
  rule.rbp_offset = saves_rbp ? -16 : 0;
  return encoder->CodeOfRule(rule);
}

}  // namespace

u16 GoFrames::CodeOfDepth(int32_t depth, bool saves_fp, RuleEncoder* encoder) const {
  return is_arm64_ ? CodeOfArm64Depth(depth, saves_fp, encoder)
                   : CodeOfX86Depth(depth, saves_fp, encoder);
}

// Does its frame look as compiled functions' frames do? Assembler may make one that says nothing of
// its return address.
bool GoFrames::HasKnownFrame(const Function& function, const std::vector<GoDepth>& depths,
                             const std::vector<uint8_t>& text) const {
  if (!is_arm64_ || (function.flags & kAssembler) == 0) return true;
  const auto frame = std::ranges::find_if(depths, [](const GoDepth& row) { return row.bytes > 0; });
  return frame == depths.end() || BeginsArm64GoFrame(text, frame->pc);
}

void GoFrames::AppendFunction(uint64_t number, const Function& function, const Piece& piece,
                              RuleEncoder* encoder, PageRows* rows) {
  const auto offset_of = [&piece](uint64_t address) {
    return piece.page_offset +
           static_cast<uint32_t>(std::clamp(address, piece.begin, piece.end) - piece.begin);
  };
  const std::vector<GoDepth> depths = ReadDepths(function);
  std::vector<uint8_t> text;
  if ((function.flags & (kAssembler | kWritesSp)) != 0) text = ReadText(function, piece);
  if (depths.empty()) {
    rows->Append(offset_of(function.entry), kNone);
    return;
  }
  const bool is_known = HasKnownFrame(function, depths, text);
  const bool is_special = function.kind != 0 || function.flags != 0;
  const std::string name = is_special ? ReadName(function.name) : "";
  const uint64_t saved_from = SavedFrom(function, depths, text);
  for (size_t i = 0; i < depths.size(); ++i) {
    const uint64_t begin = function.entry + depths[i].pc;
    const uint64_t end = i + 1 < depths.size() ? function.entry + depths[i + 1].pc : function.end;
    if (end <= piece.begin || begin >= piece.end) continue;
    if (!is_known && depths[i].bytes > 0) {
      rows->Append(offset_of(begin), kNone);
      continue;
    }
    const bool has_frame = depths[i].bytes >= 8 && saved_from < end - function.entry;
    const uint64_t saved = has_frame ? std::max(begin, function.entry + saved_from) : end;
    if (begin < saved) rows->Append(offset_of(begin), CodeOfDepth(depths[i].bytes, false, encoder));
    if (saved < end && saved < piece.end)
      rows->Append(offset_of(saved), CodeOfDepth(depths[i].bytes, true, encoder));
  }
  if (!is_special) return;
  const bool holds_entry = program_entry_ >= function.entry && program_entry_ < function.end;
  const GoFunctionText described{.name = name,
                                 .address = function.entry,
                                 .bytes = text,
                                 .depths = depths,
                                 .writes_sp = (function.flags & kWritesSp) != 0,
                                 .saves_rbp = saved_from != ~uint64_t{0},
                                 .begins_program = holds_entry,
                                 .program_begins_in_go = program_entry_ != 0};
  const std::optional<GoRuntime> runtime =
      NeedsGoRuntime(described) ? RuntimeNear(number, piece) : std::nullopt;
  const uint64_t size = function.end - function.entry;
  const GoRuntime* known_runtime = runtime ? &*runtime : nullptr;
  const std::vector<GoOverride> overrides =
      is_arm64_ ? FindArm64GoOverrides(described, known_runtime)
                : FindGoOverrides(described, known_runtime, piece.begin - piece.file_offset);
  for (const GoOverride& found : overrides) {
    const uint64_t end = found.end >= text.size() ? size : found.end;
    // The kernel "returns" to the trampoline's first byte: it is looked up a byte before.
    const bool is_trampoline = found.is_special && found.special == SPECIAL_SIGNAL;
    const uint32_t first = offset_of(function.entry + found.begin - (is_trampoline ? 1 : 0));
    const uint32_t last = offset_of(function.entry + end);
    if (first >= last) continue;
    overwrites_.push_back({first, last,
                           found.is_special ? static_cast<u16>(CODE_SPECIAL(found.special))
                                            : encoder->CodeOfRule(found.rule)});
  }
}

absl::Status GoFrames::AppendRows(const Piece& piece, RuleEncoder* encoder, PageRows* rows) {
  functions_.ClearStatus();
  values_.ClearStatus();
  names_.ClearStatus();
  overwrites_.clear();
  budget_ = kPageBudget;
  std::optional<uint64_t> number = FindFunction(piece.begin);
  if (!number) {
    const std::optional<uint64_t> first = EntryAt(0);
    if (!first || *first < piece.begin || *first >= piece.end) return ReadStatus();
    number = 0;
  }
  uint64_t done = piece.begin;
  for (; budget_-- > 0; ++*number) {
    const std::optional<Function> function = ReadFunction(*number);
    if (!function || function->entry >= piece.end) break;
    if (function->end <= done) continue;
    if (function->entry > done && done > piece.begin) break;  // Not ascending.
    AppendFunction(*number, *function, piece, encoder, rows);
    done = function->end;
  }
  if (done < piece.end)
    rows->Append(piece.page_offset + static_cast<uint32_t>(done - piece.begin), kNone);
  for (const Overwrite& overwrite : overwrites_)
    rows->Overwrite(overwrite.begin, overwrite.end, overwrite.code);
  return ReadStatus();
}

bool GoFrames::HasRaceDetector() {
  if (has_race_detector_) return *has_race_detector_;
  has_race_detector_ = false;
  const uint64_t begin = std::min(layout_.names.offset, source_.size_bytes());
  const uint64_t size = std::min(layout_.names.size_bytes, source_.size_bytes() - begin);
  std::vector<uint8_t> bytes;
  for (uint64_t at = 0; at < size; at += kScannedAtOnce) {
    // A name may lie across two pieces.
    bytes.resize(std::min(size - at, kScannedAtOnce + kDetectorName.size()));
    if (!source_.ReadAt(begin + at, bytes).ok()) break;
    const std::string_view names(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (names.find(kDetectorName) == std::string_view::npos) continue;
    has_race_detector_ = true;
    break;
  }
  return *has_race_detector_;
}

absl::Status GoFrames::ReadStatus() const {
  for (const ByteWindows* windows : {&functions_, &values_, &names_})
    if (!windows->status().ok()) return windows->status();
  return absl::OkStatus();
}

size_t GoFrames::memory_bytes() const {
  return sizeof(*this) + functions_.memory_bytes() + values_.memory_bytes() +
         names_.memory_bytes() + overwrites_.capacity() * sizeof(Overwrite);
}

}  // namespace stackray::cfi
