// Every way a file can be damaged is found, and never as another batch.
#include "reporter/spool/spool_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/reporter/export/test_batches.h"

namespace stackray {
namespace {

using testing::HasSubstr;

std::string FileOf(const Payload& payload) {
  return EncodeSpoolHeader(payload) + std::string(payload.bytes);
}

Payload Example(Signal signal = Signal::kProfiles) {
  Payload payload = Payload::Of(signal, NoiseBytes(300, 5), 77, 5);
  payload.start_unix_ns = 1'790'000'000'000'000'001;
  payload.duration_ns = 15'000'000'000;
  return payload;
}

void Put(std::string& file, size_t at, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) file[at + i] = static_cast<char>(value >> (8 * i));
}

// Puts the header's right checksum in.
std::string Signed(std::string file, size_t header_bytes = 64) {
  std::string summed = file.substr(0, 60) + file.substr(64, header_bytes - 64);
  Put(file, 60,
      crc32(0, reinterpret_cast<const Bytef*>(summed.data()), static_cast<uInt>(summed.size())), 4);
  return file;
}

std::string Refusal(const std::string& file) {
  const absl::StatusOr<Payload> payload = DecodeSpoolFile(file);
  if (payload.ok()) return "it was taken";
  EXPECT_TRUE(absl::IsDataLoss(payload.status()));
  return std::string(payload.status().message());
}

void ExpectExample(const absl::StatusOr<Payload>& back, Signal signal) {
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->signal, signal);
  EXPECT_EQ(back->bytes, Example().bytes);
  EXPECT_EQ(back->items, 77u);
  EXPECT_EQ(back->markers, 5u);
  EXPECT_EQ(back->start_unix_ns, Example().start_unix_ns);
  EXPECT_EQ(back->duration_ns, Example().duration_ns);
}

TEST(SpoolFile, ComesBackAsItWas) {
  for (const Signal signal : {Signal::kProfiles, Signal::kTraces, Signal::kLogs})
    ExpectExample(DecodeSpoolFile(FileOf(Example(signal))), signal);
}

Payload TracedExample() {
  Payload payload = Example();
  payload.trace.span = {.trace = {1, 2, 3}, .span = {4, 5}, .sampled = true};
  payload.trace.parent = {6, 7};
  payload.trace.link = {.trace = {8}, .span = {9}, .sampled = true};
  payload.trace.start_unix_ns = 1'790'000'000'000'000'000;
  return payload;
}

TEST(SpoolFile, ItsSpanComesBackWithIt) {
  Payload traced = TracedExample();
  traced.trace.seal_began_ns = 5;  // Not kept.
  const std::string file = FileOf(traced);
  EXPECT_EQ(file.size(), 136 + traced.bytes.size());
  ExpectExample(DecodeSpoolFile(file), Signal::kProfiles);
  EXPECT_EQ(DecodeSpoolFile(file)->trace, TracedExample().trace);
  EXPECT_EQ(DecodeSpoolTrace(file), TracedExample().trace);
  EXPECT_EQ(DecodeSpoolTrace(file.substr(0, 136)), TracedExample().trace);  // Of the header alone.

  traced.trace.span.sampled = false;
  traced.trace.link = {};
  traced.trace.parent = {};
  const BatchTrace back = DecodeSpoolFile(FileOf(traced))->trace;
  EXPECT_TRUE(back.span.valid());
  EXPECT_FALSE(back.span.sampled || back.link.valid());
  EXPECT_EQ(back.parent, SpanId{});
}

// A writer that knew no spans, and ids that are none: the batch counts, and has no span.
TEST(SpoolFile, ADoubtfulSpanIsNone) {
  EXPECT_EQ(DecodeSpoolFile(FileOf(Example()))->trace, BatchTrace());
  for (const auto& [at, bytes] : {std::pair<size_t, size_t>{64, 16}, {80, 8}}) {
    std::string file = FileOf(TracedExample());
    file.replace(at, bytes, bytes, '\0');
    file = Signed(file, 136);
    ExpectExample(DecodeSpoolFile(file), Signal::kProfiles);
    EXPECT_EQ(DecodeSpoolFile(file)->trace, BatchTrace());
  }
  std::string file = FileOf(TracedExample());
  file.replace(128, 8, 8, '\0');  // Half of a link.
  EXPECT_EQ(DecodeSpoolFile(Signed(file, 136))->trace.link, SpanIds());
  for (size_t size = 0; size < 136; ++size)
    EXPECT_EQ(DecodeSpoolTrace(file.substr(0, size)), BatchTrace()) << size;
}

TEST(SpoolFile, EveryFlippedBitOfASpanIsFound) {
  const std::string whole = FileOf(TracedExample());
  for (size_t bit = 0; bit < 136 * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(absl::IsDataLoss(DecodeSpoolFile(damaged).status())) << bit;
    EXPECT_EQ(DecodeSpoolTrace(damaged), BatchTrace()) << bit;
  }
}

TEST(SpoolFile, EveryCutIsFound) {
  const std::string whole = FileOf(Example());
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_TRUE(absl::IsDataLoss(DecodeSpoolFile(whole.substr(0, size)).status())) << size;
  EXPECT_TRUE(absl::IsDataLoss(DecodeSpoolFile(whole + '\0').status()));
}

TEST(SpoolFile, EveryFlippedBitIsFound) {
  const std::string whole = FileOf(Example());
  for (size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string damaged = whole;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(absl::IsDataLoss(DecodeSpoolFile(damaged).status())) << bit;
  }
}

// Blocks that never reached the disk before the power went.
TEST(SpoolFile, ZeroesInPlaceOfATailAreFound) {
  const std::string whole = FileOf(Example());
  for (size_t from = 0; from < whole.size(); ++from) {
    if (whole.find_first_not_of('\0', from) == std::string::npos) continue;
    std::string damaged = whole;
    std::fill(damaged.begin() + static_cast<std::ptrdiff_t>(from), damaged.end(), '\0');
    EXPECT_TRUE(absl::IsDataLoss(DecodeSpoolFile(damaged).status())) << from;
  }
}

// A file of the format before, byte by byte as the writer of commit 78a4a7e made it.
TEST(SpoolFile, TheFormatBeforeIsStillRead) {
  constexpr std::string_view kOld(
      "SRSPOOL1"
      "\x0b\x00\x00\x00\x00\x00\x00\x00"
      "\x4d\x00\x00\x00\x00\x00\x00\x00"
      "\x05\x00\x00\x00\x00\x00\x00\x00"
      "\x01\x00\xf3\x23\x84\x5b\xd7\x18"
      "\x00\xd6\x11\x7e\x03\x00\x00\x00"
      "\x63\xf0\xb2\x87\x00\x00\x00\x00"
      "\x00\x00\x00\x00\xd6\xb3\x31\xc5"
      "old profile",
      75);
  const absl::StatusOr<Payload> back = DecodeSpoolFile(std::string(kOld));
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->signal, Signal::kProfiles);
  EXPECT_EQ(back->bytes, "old profile");
  EXPECT_EQ(back->items, 77u);
  EXPECT_EQ(back->markers, 5u);
  EXPECT_EQ(back->start_unix_ns, Example().start_unix_ns);
  EXPECT_EQ(back->duration_ns, Example().duration_ns);
  for (size_t bit = 0; bit < kOld.size() * 8; ++bit) {
    std::string damaged(kOld);
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_TRUE(absl::IsDataLoss(DecodeSpoolFile(damaged).status())) << bit;
  }
}

TEST(SpoolFile, WhatALaterWriterAddsToTheHeaderIsSkipped) {
  std::string file = FileOf(Example());
  file.insert(64, "fields of a later day, unknown here");
  Put(file, 52, 64 + 35, 2);
  file = Signed(file, 64 + 35);
  ExpectExample(DecodeSpoolFile(file), Signal::kProfiles);
  for (size_t bit = 64 * 8; bit < (64 + 35) * 8; ++bit) {  // They are covered by the checksum.
    std::string damaged = file;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    EXPECT_THAT(Refusal(damaged), HasSubstr("checksum")) << bit;
  }
}

TEST(SpoolFile, WhatAReaderMustKnowAndDoesNotIsRefused) {
  const auto with = [](size_t at, uint64_t value) {
    std::string file = FileOf(Example());
    Put(file, at, value, 2);
    return Refusal(Signed(file));
  };
  EXPECT_THAT(with(54, 3), HasSubstr("of format 3, which only a later stackray reads"));
  EXPECT_THAT(with(56, 3), HasSubstr("of signal 3, which is not known"));
  EXPECT_THAT(with(54, 1), HasSubstr("not possible"));
  EXPECT_THAT(with(58, 1), HasSubstr("not possible"));
  EXPECT_THAT(with(24, 78), HasSubstr("not possible"));  // More markers than items.
  for (const uint64_t bytes : {0, 63, 4097, 65535})
    EXPECT_THAT(with(52, bytes), HasSubstr("length is not possible")) << bytes;
}

}  // namespace
}  // namespace stackray
