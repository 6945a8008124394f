#include "interpreters/python/python_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/status/status.h"

namespace stackray {
namespace {

constexpr uint32_t kFirstCodeUnitMinor = 10;  // f_lasti counts instructions of two bytes.
constexpr uint32_t kFirstCframeMinor = 11, kFirstEntryFrameMinor = 12,
                   kFirstWithoutCframeMinor = 13;
constexpr uint32_t kFirstJitMinor = 13;
// FRAME_OWNED_BY_CSTACK of 3.12 and 3.13, FRAME_OWNED_BY_INTERPRETER of 3.14: what is below owns
// code.
constexpr uint32_t kFirstOwnerWithoutCode = 3;

uint32_t ChainOf(uint32_t minor) {
  if (minor < kFirstCframeMinor) return PYTHON_FRAME_OBJECTS;
  if (minor < kFirstEntryFrameMinor) return PYTHON_CFRAMES;
  return minor < kFirstWithoutCframeMinor ? PYTHON_CFRAME_ENTRIES : PYTHON_ENTRIES;
}

LineTableFormat FormatOf(uint32_t minor) {
  if (minor < kFirstCodeUnitMinor) return LineTableFormat::kLnotab;
  return minor == kFirstCodeUnitMinor ? LineTableFormat::kRanges : LineTableFormat::kLocations;
}

uint32_t OrZero(uint32_t field) { return field == kAbsent ? 0 : field; }

// The least number of bytes that holds all the frame fields.
uint32_t FrameBytes(const PythonFields& fields) {
  uint32_t end = 0;
  for (uint32_t word : {fields.frame_code, fields.frame_instruction, fields.frame_previous})
    end = std::max(end, word + 8);
  for (uint32_t byte : {fields.frame_owner, fields.frame_is_entry})
    if (byte != kAbsent) end = std::max(end, byte + 1);
  return end;
}

// False: the fields that tell code objects apart do not fit into one read.
bool SetCodeCheck(const PythonFields& fields, python_layout* layout) {
  const uint32_t name =
      fields.code_qualified_name == kAbsent ? fields.code_name : fields.code_qualified_name;
  // In the order of enum python_check.
  const uint32_t words[] = {fields.code_filename, fields.code_name, name, fields.code_line_table};
  layout->bytes_size = fields.bytes_size;
  layout->bytes_data = fields.bytes_data;
  layout->code_check = std::min(fields.code_first_line & ~7u, *std::min_element(words, words + 4));
  layout->check_line = fields.code_first_line - layout->code_check;
  bool fits = layout->check_line <= PYTHON_CODE_BYTES - 8;
  for (size_t i = 0; i < 4; ++i) {
    layout->check_words[i] = words[i] - layout->code_check;
    fits = fits && layout->check_words[i] <= PYTHON_CODE_BYTES - 8 && words[i] % 8 == 0;
  }
  return fits;
}

python_layout LayoutOf(uint32_t minor, const PythonFields& fields,
                       const PythonVariables& variables) {
  python_layout layout = {};
  layout.current_at = variables.current_at;
  layout.interpreters_at = variables.interpreters_at;
  layout.tls_kind = variables.tls_kind;
  layout.tls_at = variables.tls_at;
  layout.tls_offset = variables.tls_offset;
  layout.chain = ChainOf(minor);
  layout.interpreter_next = fields.interpreter_next;
  layout.interpreter_threads = fields.interpreter_threads;
  layout.tstate_next = fields.tstate_next;
  layout.tstate_interpreter = fields.tstate_interpreter;
  layout.tstate_thread_id = fields.tstate_thread_id;
  layout.tstate_frame = fields.tstate_frame;
  layout.cframe_current_frame = OrZero(fields.cframe_current_frame);
  layout.cframe_previous = OrZero(fields.cframe_previous);
  layout.frame_bytes = FrameBytes(fields);
  layout.frame_previous = fields.frame_previous;
  layout.frame_code = fields.frame_code;
  layout.frame_instruction = fields.frame_instruction;
  layout.frame_owner = OrZero(fields.frame_owner);
  layout.frame_is_entry = OrZero(fields.frame_is_entry);
  layout.owner_entry = kFirstOwnerWithoutCode;
  layout.code_instructions = OrZero(fields.code_instructions);
  return layout;
}

}  // namespace

std::shared_ptr<const PythonData> PythonData::Make(const PythonBuild& build,
                                                   const PythonFields& fields,
                                                   const PythonVariables& variables,
                                                   PythonCodePlaces code) {
  const uint32_t minor = build.version_hex >> 16 & 0xff;
  auto data = std::make_shared<PythonData>();
  data->name_ = fmt::format("python 3.{}{}", minor, build.free_threaded ? "t" : "");
  data->build_ = build;
  data->layout_ = LayoutOf(minor, fields, variables);
  data->code_ = std::move(code);
  if (!SetCodeCheck(fields, &data->layout_) || data->layout_.frame_bytes > PYTHON_FRAME_BYTES) {
    data->layout_ = {};
    return data;
  }
  data->reader_ = PythonCodeReader{.fields = fields,
                                   .layout = data->layout_,
                                   .format = FormatOf(minor),
                                   .instruction_bytes = minor == kFirstCodeUnitMinor ? 2u : 1u};
  return data;
}

std::shared_ptr<const PythonData> PythonData::MakeUnsupported(const std::string& version,
                                                              std::vector<FileRange> loop_code) {
  auto data = std::make_shared<PythonData>();
  data->name_ = "python " + version;
  data->code_.loop = std::move(loop_code);
  return data;
}

LoopPart PythonData::PartOfLoop(uint64_t file_offset) const {
  for (const FileRange& range : code_.made_code_entry)
    if (range.Contains(file_offset)) return LoopPart::kMadeCodeEntry;
  const LoopPart part = RuntimeData::PartOfLoop(file_offset);
  if (part != LoopPart::kNone) return part;
  const auto behind = std::ranges::upper_bound(code_.carriers, file_offset, {}, &FileRange::begin);
  return behind != code_.carriers.begin() && std::prev(behind)->Contains(file_offset)
             ? LoopPart::kCarrier
             : LoopPart::kNone;
}

bool PythonData::makes_code() const {
  return supported() && (build_.version_hex >> 16 & 0xff) >= kFirstJitMinor;
}

absl::Status PythonData::Publish(uint32_t runtime, RuntimeMemory& memory) const {
  runtime_layout layout{};
  layout.kind = layout_.chain == PYTHON_NO_CHAIN ? RUNTIME_NONE : RUNTIME_PYTHON;
  layout.python = layout_;
  return memory.Put(runtime, layout);
}

absl::StatusOr<std::shared_ptr<const RuntimeCode>> PythonData::ReadCode(
    ProcessMemory& memory, uint64_t /*base*/, const RuntimePlace& place) const {
  if (!reader_) return absl::DataLossError("an unsupported version");
  return reader_->Read(memory, place.code, static_cast<uint32_t>(place.check));
}

}  // namespace stackray
