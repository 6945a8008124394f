// Finds text that is not UTF-8 without parsing it as text: the generated classes refuse a whole
// batch for one bad byte and do not say where it is.
#include <fmt/format.h>

#include <string_view>

#include "google/protobuf/descriptor.h"
#include "reporter/check_report.h"
#include "reporter/valid_text.h"

namespace stackray::batch_check {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr int kMaxDepth = 100;  // What the generated classes allow.

// Walks messages in place. Layout: the encoding page of the protobuf documentation.
class TextWalker {
 public:
  TextWalker(std::string* bytes, Report* report) : bytes_(*bytes), report_(report) {}

  // The message in [begin, end). False when it is not protobuf.
  bool Walk(const Descriptor& message, size_t begin, size_t end, int depth);

 private:
  bool ReadVarint(size_t* at, size_t end, uint64_t* value) const;
  bool Skip(int wire_type, size_t* at, size_t end) const;
  bool WalkBytes(const FieldDescriptor* field, size_t begin, size_t end, int depth);

  std::string& bytes_;
  Report* const report_;
};

bool TextWalker::ReadVarint(size_t* at, size_t end, uint64_t* value) const {
  *value = 0;
  for (int shift = 0; shift < 70 && *at < end; shift += 7) {
    const auto byte = static_cast<uint8_t>(bytes_[(*at)++]);
    if (shift < 64) *value |= uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool TextWalker::Skip(int wire_type, size_t* at, size_t end) const {
  uint64_t ignored = 0;
  if (wire_type == 0) return ReadVarint(at, end, &ignored);
  const size_t width = wire_type == 1 ? 8 : wire_type == 5 ? 4 : 0;
  if (width == 0 || end - *at < width) return false;
  *at += width;
  return true;
}

bool TextWalker::WalkBytes(const FieldDescriptor* field, size_t begin, size_t end, int depth) {
  if (field == nullptr) return true;
  if (field->type() == FieldDescriptor::TYPE_MESSAGE)
    return Walk(*field->message_type(), begin, end, depth + 1);
  if (field->type() != FieldDescriptor::TYPE_STRING) return true;
  bool valid = true;
  while (begin < end) {
    begin += ValidUtf8Prefix(std::string_view(bytes_).substr(begin, end - begin));
    if (begin == end) break;
    bytes_[begin] = '?';
    valid = false;
  }
  if (!valid)
    report_->Add(BatchRule::kUtf8, fmt::format("{} before byte {}", field->full_name(), end));
  return true;
}

bool TextWalker::Walk(const Descriptor& message, size_t begin, size_t end, int depth) {
  if (depth > kMaxDepth) return false;
  while (begin < end) {
    uint64_t tag = 0, length = 0;
    if (!ReadVarint(&begin, end, &tag) || tag >> 3 == 0 || tag >> 32 != 0) return false;
    if ((tag & 7) != 2) {
      if (!Skip(static_cast<int>(tag & 7), &begin, end)) return false;
      continue;
    }
    if (!ReadVarint(&begin, end, &length) || length > end - begin) return false;
    const FieldDescriptor* const field = message.FindFieldByNumber(static_cast<int>(tag >> 3));
    if (!WalkBytes(field, begin, begin + length, depth)) return false;
    begin += length;
  }
  return true;
}

}  // namespace

bool CheckText(std::string* message, Report* report) {
  TextWalker walker(message, report);
  return walker.Walk(*otlp::ProfilesData::descriptor(), 0, message->size(), 0);
}

}  // namespace stackray::batch_check
