#include "reporter/formats/page_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "reporter/formats/gzip.h"

namespace stackray {
namespace {

constexpr std::string_view kBegin = "id=\"stackray-data\"";  // html.cc writes it.
constexpr std::string_view kView = "data-view=\"";
constexpr size_t kMostTagBytes = 16 << 10, kPartBytes = 64 << 10;

// What can leave the attribute, or is no text, makes it empty.
std::string ViewOf(std::string_view tag) {
  const size_t at = tag.find(kView);
  if (at == std::string_view::npos) return "";
  const std::string_view view = tag.substr(at + kView.size());
  const size_t end = view.find('"');
  if (end == std::string_view::npos) return "";
  const bool plain = std::ranges::all_of(view.substr(0, end), [](unsigned char c) {
    return c > 0x20 && c < 0x7f && c != '<' && c != '>' && c != '\'';
  });
  return plain ? std::string(view.substr(0, end)) : "";
}

absl::Status LookAtDocument(std::string_view gzip) {
  bool begun = false;
  const absl::Status status =
      GzipExpandParts(gzip, kMostPageDocumentBytes, [&](std::string_view part) {
        if (!begun && !part.starts_with('{'))
          return absl::DataLossError("the page's data are no document");
        begun = true;
        return absl::OkStatus();
      });
  if (absl::IsResourceExhausted(status))
    return absl::ResourceExhaustedError(
        fmt::format("the page's data expand to more than {} MiB, which no browser shows",
                    kMostPageDocumentBytes >> 20));
  if (status.ok() && !begun) return absl::DataLossError("the page's data are empty");
  if (!status.ok())
    return absl::DataLossError(
        fmt::format("the page's data are damaged: {}", std::string(status.message())));
  return status;
}

}  // namespace

absl::Status PageBlockReader::Add(std::string_view part) {
  while (!part.empty() && state_ != State::kDone) {
    if (state_ == State::kSeeking) {
      part = Seek(part);
      continue;
    }
    const absl::StatusOr<std::string_view> rest =
        state_ == State::kInTag ? TakeTag(part) : TakeData(part);
    if (!rest.ok()) return rest.status();
    part = *rest;
  }
  return absl::OkStatus();
}

// The marker may lie across two parts.
std::string_view PageBlockReader::Seek(std::string_view part) {
  const size_t before = held_.size();
  held_ += part.substr(0, kBegin.size() - 1);
  if (const size_t across = held_.find(kBegin); across != std::string::npos) {
    held_.clear();
    state_ = State::kInTag;
    return part.substr(across + kBegin.size() - before);
  }
  const size_t at = part.find(kBegin);
  if (at != std::string_view::npos) {
    held_.clear();
    state_ = State::kInTag;
    return part.substr(at + kBegin.size());
  }
  if (part.size() >= kBegin.size()) held_ = part.substr(part.size() - (kBegin.size() - 1));
  held_.erase(0, held_.size() - std::min(held_.size(), kBegin.size() - 1));
  return {};
}

absl::StatusOr<std::string_view> PageBlockReader::TakeTag(std::string_view part) {
  const size_t end = std::min(part.find('>'), part.size());
  held_ += part.substr(0, std::min(end, kMostTagBytes + 1));
  if (held_.size() > kMostTagBytes) return absl::DataLossError("the page's data are damaged");
  if (end == part.size()) return std::string_view();
  data_.view = ViewOf(held_);
  held_.clear();
  state_ = State::kInData;
  return part.substr(end + 1);
}

absl::StatusOr<std::string_view> PageBlockReader::TakeData(std::string_view part) {
  const size_t end = std::min(part.find('<'), part.size());
  for (std::string_view text = part.substr(0, end); !text.empty();) {
    const std::string_view some = text.substr(0, kPartBytes);
    text.remove_prefix(some.size());
    for (const char c : some)
      if (!absl::ascii_isspace(static_cast<unsigned char>(c))) held_ += c;
    if (absl::Status status = Decode(false); !status.ok()) return status;
  }
  if (end == part.size()) return std::string_view();
  state_ = State::kDone;
  if (absl::Status status = Decode(true); !status.ok()) return status;
  return std::string_view();
}

absl::Status PageBlockReader::Decode(bool last) {
  const size_t whole = last ? held_.size() : held_.size() / 4 * 4;
  std::string bytes;
  if (!absl::Base64Unescape({held_.data(), whole}, &bytes))
    return absl::DataLossError("the page's data are damaged: no base64");
  held_.erase(0, whole);
  if (data_.gzip.size() + bytes.size() > most_bytes_)
    return absl::ResourceExhaustedError(
        fmt::format("the page's data are longer than {} MiB", most_bytes_ >> 20));
  data_.gzip += bytes;
  return absl::OkStatus();
}

absl::StatusOr<PackedPageData> PageBlockReader::Finish() {
  if (state_ == State::kSeeking) return absl::NotFoundError("no page of stackray");
  if (state_ != State::kDone) return absl::DataLossError("the page's data are cut");
  if (absl::Status status = LookAtDocument(data_.gzip); !status.ok()) return status;
  return std::move(data_);
}

}  // namespace stackray
