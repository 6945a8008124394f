// libs: stackray_page ZLIB::ZLIB
// A page index and a question from any bytes: the index is opened as if its sum were right, and
// asked for all that there is.
#include <zlib.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "reporter/page/page_answer.h"
#include "reporter/page/page_index.h"
#include "reporter/page/page_keys.h"
#include "reporter/page/page_question.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  stackray::ParsePageQuestion(input).IgnoreError();
  auto bytes = std::make_shared<std::string>(stackray::kPageIndexMagic);
  const bool has_magic = input.starts_with(stackray::kPageIndexMagic);
  bytes->append(has_magic ? input.substr(stackray::kPageIndexMagic.size()) : input);
  if (has_magic && bytes->size() > stackray::kPageIndexMagic.size() + 4)
    bytes->resize(bytes->size() - 4);
  const auto sum = static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes->data()), bytes->size()));
  for (int shift = 0; shift < 32; shift += 8) bytes->push_back(static_cast<char>(sum >> shift));
  stackray::PageStore store;
  const absl::StatusOr<stackray::PageIndex::Ptr> index =
      stackray::PageIndex::Open(*bytes, bytes, store.tables());
  if (!index.ok()) return 0;
  store.Add(*index);
  const int64_t from_ms = (*index)->first_second() * 1000;
  stackray::PageQuestion question;
  question.from_ms = from_ms;
  question.to_ms = from_ms + 3'600'000;
  for (int shape = 0; shape < 8; ++shape) {
    question.inverted = (shape & 1) != 0;
    question.fold = question.lanes = (shape & 2) != 0;
    question.chosen_from_ms = from_ms + 1000;
    question.chosen_to_ms = (shape & 4) != 0 ? from_ms + 3000 : 0;
    question.width = (shape & 4) != 0 ? 0 : 100;
    question.query = (shape & 4) != 0 ? "" : "/a|e/";
    question.hidden.clear();
    if ((shape & 2) != 0) question.hidden.insert("native");
    const auto& functions = store.tables()->functions.items();
    question.callers =
        stackray::KeyText(stackray::FunctionKey(*store.tables(), functions[functions.size() / 2]));
    size_t written = 0;
    const absl::Status status =
        stackray::WritePageAnswer(store, question, {}, {}, [&](std::string_view part) {
          written += part.size();
          return absl::OkStatus();
        });
    if (!status.ok() || written == 0) std::abort();
  }
  return 0;
}
