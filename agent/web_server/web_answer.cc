#include "agent/web_server/web_answer.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>

#include "agent/web_server/request_guard.h"

namespace stackray {
namespace {

std::string_view Reason(int status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Unknown";
  }
}

}  // namespace

WebAnswer TextAnswer(int status, std::string text) {
  WebAnswer answer;
  answer.status = status;
  answer.body = MakeBody(std::move(text), 1);
  return answer;
}

WebAnswer ErrorAnswer(int status, std::string_view message) {
  std::string clean(message);
  std::erase_if(clean,
                [](unsigned char c) { return c < 0x20 || c == '"' || c == '\\' || c >= 0x7f; });
  WebAnswer answer = TextAnswer(status, fmt::format("{{\"error\":\"{}\"}}", clean));
  answer.type = "application/json";
  if (status == 503) answer.headers.emplace_back("Retry-After", "1");
  return answer;
}

AnswerForm FormFor(const RequestHead& head) {
  return {.gzip = AcceptsGzip(head.Header("Accept-Encoding")),
          .head_only = head.method == "HEAD",
          .chunks = head.minor_version == 1,
          .close_after = !head.KeepsConnection()};
}

AnswerBytes::AnswerBytes(const WebAnswer& answer, const AnswerForm& form,
                         std::string_view shared_headers, std::string_view policy)
    : body_(answer.body), close_after_(form.close_after) {
  const bool packed = form.gzip && !body_->gzip.empty();
  const bool unknown_length = !packed && body_->plain.empty() && !body_->gzip.empty();
  if (unknown_length && !form.chunks) close_after_ = true;
  auto out = std::back_inserter(part_);
  fmt::format_to(out, "HTTP/1.1 {} {}\r\n{}", answer.status, Reason(answer.status), shared_headers);
  if (!policy.empty()) fmt::format_to(out, "Content-Security-Policy: {}\r\n", policy);
  for (const auto& [name, value] : answer.headers) fmt::format_to(out, "{}: {}\r\n", name, value);
  fmt::format_to(out, "Content-Type: {}\r\nVary: Accept-Encoding\r\n", answer.type);
  if (packed) part_ += "Content-Encoding: gzip\r\n";
  if (close_after_) part_ += "Connection: close\r\n";
  if (unknown_length) {
    if (form.chunks) part_ += "Transfer-Encoding: chunked\r\n";
  } else {
    fmt::format_to(out, "Content-Length: {}\r\n",
                   body_->file.valid() ? body_->file_bytes
                   : packed            ? body_->gzip.size()
                                       : body_->plain.size());
  }
  part_ += "\r\n";
  if (form.head_only) return;
  is_file_ = body_->file.valid();
  chunks_ = form.chunks;
  if (unknown_length) {
    expander_ = std::make_unique<BodyExpander>(body_);
  } else {
    rest_ = packed ? body_->gzip : body_->plain;
  }
}

std::string_view AnswerBytes::Next() const {
  if (sent_of_part_ < part_.size()) return std::string_view(part_).substr(sent_of_part_);
  return rest_;
}

void AnswerBytes::Skip(size_t count) {
  if (sent_of_part_ < part_.size()) {
    sent_of_part_ += count;
  } else {
    rest_.remove_prefix(count);
  }
  while (sent_of_part_ >= part_.size() && expander_ != nullptr && !damaged_) MakeChunk();
  if (sent_of_part_ >= part_.size() && is_file_) ReadFilePart();
}

// A file that became shorter meanwhile ends the answer early.
void AnswerBytes::ReadFilePart() {
  constexpr uint64_t kPartBytes = 64 * 1024;
  part_.clear();
  sent_of_part_ = 0;
  const uint64_t left = body_->file_bytes - sent_of_file_;
  if (left == 0 || damaged_) return;
  part_.resize(std::min(left, kPartBytes));
  const ssize_t got =
      pread(body_->file.get(), part_.data(), part_.size(), static_cast<off_t>(sent_of_file_));
  damaged_ = got <= 0;
  part_.resize(damaged_ ? 0 : static_cast<size_t>(got));
  sent_of_file_ += part_.size();
}

void AnswerBytes::MakeChunk() {
  std::string bytes;
  const BodyExpander::State state = expander_->Next(&bytes);
  damaged_ = state == BodyExpander::State::kDamaged;
  part_.clear();
  sent_of_part_ = 0;
  if (damaged_) return;
  if (!chunks_) {
    part_ = std::move(bytes);
  } else if (!bytes.empty()) {
    part_ = fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes);
  }
  if (state != BodyExpander::State::kEnd) return;
  if (chunks_) part_ += "0\r\n\r\n";
  expander_.reset();
}

}  // namespace stackray
