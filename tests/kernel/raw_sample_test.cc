// Records as BPF writes them, and everything that can be wrong with one.
#include "kernel/raw_sample.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <random>
#include <vector>

namespace stackray {
namespace {

// 8-byte aligned bytes of a record.
class Bytes {
 public:
  explicit Bytes(size_t size) : size_(size), words_((size + 7) / 8) {}
  uint8_t* data() { return reinterpret_cast<uint8_t*>(words_.data()); }
  template <typename T>
  T* As() {
    return reinterpret_cast<T*>(data());
  }
  std::span<const uint8_t> span() { return {data(), size_}; }
  absl::StatusOr<Record> Decode() { return DecodeRecord(span()); }
  absl::StatusCode Code() { return Decode().status().code(); }

 private:
  size_t size_;
  std::vector<uint64_t> words_;
};

constexpr auto kDataLoss = absl::StatusCode::kDataLoss;
constexpr auto kUnimplemented = absl::StatusCode::kUnimplemented;
constexpr size_t kKernel = 2, kUser = 3, kRanges = 2, kProbed = 2, kRaw = 48;
constexpr size_t kUserAt = sizeof(sample_record) + 8 * kKernel;
constexpr size_t kRangesAt = kUserAt + 8 * kUser;
constexpr size_t kProbedAt = kRangesAt + sizeof(code_range) * kRanges;
constexpr size_t kSampleBytes = kProbedAt + sizeof(probed_return) * kProbed + kRaw;

void FillHeader(Bytes& bytes, record_type type) {
  *bytes.As<record_header>() = {.layout = RECORD_LAYOUT_VERSION,
                                .type = static_cast<u16>(type),
                                .size_bytes = static_cast<u32>(bytes.span().size()),
                                .time_ns = 12345};
}

code_range Range(uint64_t start) {
  code_range range = {};
  range.start = start;
  range.end = start + 4096;
  range.kind = RANGE_FILE;
  return range;
}

Bytes Sample() {
  Bytes bytes(kSampleBytes);
  FillHeader(bytes, RECORD_SAMPLE);
  auto* record = bytes.As<sample_record>();
  record->end = END_UNDEFINED_RA;
  record->kernel_count = kKernel;
  record->user_words = kUser;
  record->range_count = kRanges;
  record->probed_count = kProbed;
  record->raw_bytes = kRaw;
  std::memcpy(record->leader_command, "sixteen-bytes-ab", COMMAND_BYTES);
  std::memcpy(record->thread_command, "short\0left", 10);
  const uint64_t words[kKernel + kUser] = {
      0xffffffff81000001, 0xffffffff81000002, uint64_t{FRAME_EXACT} << FRAME_KIND_SHIFT | 0x123,
      uint64_t{FRAME_RETURN} << FRAME_KIND_SHIFT | 1ull << FRAME_RANGE_SHIFT | 0x456,
      uint64_t{FRAME_NO_RANGE} << FRAME_KIND_SHIFT | 0xfffull << FRAME_RANGE_SHIFT | 0x789};
  std::memcpy(bytes.data() + sizeof(sample_record), words, sizeof(words));
  const code_range ranges[kRanges] = {Range(0x1000), Range(0x10000)};
  std::memcpy(bytes.data() + kRangesAt, ranges, sizeof(ranges));
  const probed_return probed[kProbed] = {{0x7ffc00001000, 0x1234}, {0x7ffc00002000, 0x5678}};
  std::memcpy(bytes.data() + kProbedAt, probed, sizeof(probed));
  std::memset(bytes.data() + kSampleBytes - kRaw, 0x5a, kRaw);
  return bytes;
}

TEST(DecodeRecord, ASampleHasAllItsParts) {
  Bytes bytes = Sample();
  const absl::StatusOr<Record> record = bytes.Decode();
  ASSERT_TRUE(record.ok()) << record.status();
  const auto* sample = std::get_if<RawSample>(&*record);
  ASSERT_NE(sample, nullptr);
  EXPECT_EQ(sample->record->header.time_ns, 12345u);
  ASSERT_EQ(sample->kernel.size(), kKernel);
  EXPECT_EQ(sample->kernel[1], 0xffffffff81000002);
  ASSERT_EQ(sample->user.size(), kUser);
  EXPECT_EQ(FrameWordKind(sample->user[0]), uint64_t{FRAME_EXACT});
  EXPECT_EQ(FrameWordRange(sample->user[1]), 1u);
  EXPECT_EQ(FrameWordOffset(sample->user[1]), 0x456u);
  ASSERT_EQ(sample->ranges.size(), kRanges);
  EXPECT_EQ(sample->ranges[1].start, 0x10000u);
  ASSERT_EQ(sample->probed_returns.size(), kProbed);
  EXPECT_EQ(sample->probed_returns[1].at, 0x7ffc00002000u);
  EXPECT_EQ(sample->probed_returns[1].address, 0x5678u);
  ASSERT_EQ(sample->raw_stack.size(), kRaw);
  EXPECT_EQ(sample->raw_stack.data() + kRaw, bytes.span().data() + kSampleBytes);
  EXPECT_EQ(sample->raw_stack[0], 0x5a);
  EXPECT_EQ(CommandText(sample->record->leader_command), "sixteen-bytes-ab");
  EXPECT_EQ(CommandText(sample->record->thread_command), "short");
}

// A sample with an asked walk in front of its slice.
Bytes AskingSample(uint32_t user_words) {
  Bytes sample = Sample(), bytes(kSampleBytes + sizeof(asked_walk));
  const size_t before = kSampleBytes - kRaw;
  std::memcpy(bytes.data(), sample.data(), before);
  asked_walk asked = {.regs = {}, .user_words = user_words, .reserved = 0};
  asked.regs.pc = 0x1234;
  asked.regs.r[UNWIND_SP] = 0x7ffc00000000 + RED_ZONE_BYTES;
  std::memcpy(bytes.data() + before, &asked, sizeof(asked));
  std::memcpy(bytes.data() + before + sizeof(asked), sample.data() + before, kRaw);
  FillHeader(bytes, RECORD_SAMPLE);
  bytes.As<sample_record>()->flags = SAMPLE_HAS_RAW | SAMPLE_ASKS;
  return bytes;
}

TEST(DecodeRecord, AnAskedWalkLiesInFrontOfTheSlice) {
  Bytes bytes = AskingSample(2);
  const absl::StatusOr<Record> record = bytes.Decode();
  ASSERT_TRUE(record.ok()) << record.status();
  const auto& sample = std::get<RawSample>(*record);
  ASSERT_NE(sample.asked, nullptr);
  EXPECT_EQ(sample.asked->regs.pc, 0x1234u);
  EXPECT_EQ(sample.raw_begin(), 0x7ffc00000000u);
  ASSERT_EQ(sample.raw_stack.size(), kRaw);
  EXPECT_EQ(sample.raw_stack[0], 0x5a);
}

TEST(DecodeRecord, AnAskedWalkThatEndsBetweenFramesIsNone) {
  for (const uint32_t words : {0u, static_cast<uint32_t>(kUser) + 1, 0xffffffffu}) {
    Bytes bytes = AskingSample(words);
    const absl::StatusOr<Record> record = bytes.Decode();
    ASSERT_TRUE(record.ok()) << record.status();
    EXPECT_EQ(std::get<RawSample>(*record).asked, nullptr) << words;
  }
  Bytes bytes = AskingSample(1);
  EXPECT_EQ(DecodeRecord(bytes.span().first(kSampleBytes)).status().code(), kDataLoss);
}

TEST(DecodeRecord, ASampleMayBeEmpty) {
  Bytes bytes(sizeof(sample_record));
  FillHeader(bytes, RECORD_SAMPLE);
  EXPECT_TRUE(bytes.Decode().ok());
}

TEST(DecodeRecord, TruncatedAtEveryLength) {
  for (size_t size = 0; size < kSampleBytes; ++size) {
    Bytes whole = Sample();
    EXPECT_EQ(DecodeRecord(whole.span().first(size)).status().code(), kDataLoss) << size;
    whole.As<record_header>()->size_bytes = static_cast<u32>(size);  // And says so.
    EXPECT_EQ(DecodeRecord(whole.span().first(size)).status().code(), kDataLoss) << size;
  }
}

TEST(DecodeRecord, BytesBehindTheRecordAreRefused) {
  Bytes sample = Sample(), longer(kSampleBytes + 8);
  std::memcpy(longer.data(), sample.data(), kSampleBytes);
  EXPECT_EQ(longer.Code(), kDataLoss);
  longer.As<record_header>()->size_bytes += 8;
  EXPECT_EQ(longer.Code(), kDataLoss);
}

TEST(DecodeRecord, UnalignedBytesAreRefused) {
  Bytes sample = Sample(), shifted(kSampleBytes + 8);
  std::memcpy(shifted.data() + 4, sample.data(), kSampleBytes);
  EXPECT_EQ(DecodeRecord(shifted.span().subspan(4, kSampleBytes)).status().code(), kDataLoss);
}

struct Damage {
  const char* what;
  absl::StatusCode code;
  std::function<void(Bytes&)> apply;
};

uint64_t& Word(Bytes& bytes, size_t at) { return *reinterpret_cast<uint64_t*>(bytes.data() + at); }
code_range& RangeOf(Bytes& bytes, size_t i) {
  return reinterpret_cast<code_range*>(bytes.data() + kRangesAt)[i];
}
sample_record& Fixed(Bytes& bytes) { return *bytes.As<sample_record>(); }

TEST(DecodeRecord, EveryDamagedFieldIsRefused) {
  const Damage damages[] = {
      {"layout", kUnimplemented, [](Bytes& b) { Fixed(b).header.layout = 2; }},
      {"layout 0", kUnimplemented, [](Bytes& b) { Fixed(b).header.layout = 0; }},
      {"type 0", kUnimplemented, [](Bytes& b) { Fixed(b).header.type = 0; }},
      {"type 99", kUnimplemented, [](Bytes& b) { Fixed(b).header.type = 99; }},
      {"exec of a sample's size", kDataLoss, [](Bytes& b) { Fixed(b).header.type = RECORD_EXEC; }},
      {"fork of a sample's size", kDataLoss, [](Bytes& b) { Fixed(b).header.type = RECORD_FORK; }},
      {"exit of a sample's size", kDataLoss, [](Bytes& b) { Fixed(b).header.type = RECORD_EXIT; }},
      {"miss of a sample's size", kDataLoss, [](Bytes& b) { Fixed(b).header.type = RECORD_MISS; }},
      {"size less", kDataLoss, [](Bytes& b) { --Fixed(b).header.size_bytes; }},
      {"size more", kDataLoss, [](Bytes& b) { ++Fixed(b).header.size_bytes; }},
      {"size at its limit", kDataLoss, [](Bytes& b) { Fixed(b).header.size_bytes = ~0u; }},
      {"kernel frames less", kDataLoss, [](Bytes& b) { --Fixed(b).kernel_count; }},
      {"kernel frames more", kDataLoss, [](Bytes& b) { ++Fixed(b).kernel_count; }},
      {"kernel frames at the limit", kDataLoss, [](Bytes& b) { Fixed(b).kernel_count = 0xffff; }},
      {"words less", kDataLoss, [](Bytes& b) { --Fixed(b).user_words; }},
      {"words more", kDataLoss, [](Bytes& b) { ++Fixed(b).user_words; }},
      {"words at the limit", kDataLoss, [](Bytes& b) { Fixed(b).user_words = 0xffff; }},
      {"ranges less", kDataLoss, [](Bytes& b) { --Fixed(b).range_count; }},
      {"ranges more", kDataLoss, [](Bytes& b) { ++Fixed(b).range_count; }},
      {"ranges at the limit", kDataLoss, [](Bytes& b) { Fixed(b).range_count = 0xffff; }},
      {"probed returns less", kDataLoss, [](Bytes& b) { --Fixed(b).probed_count; }},
      {"probed returns more", kDataLoss, [](Bytes& b) { ++Fixed(b).probed_count; }},
      {"probed returns at the limit", kDataLoss, [](Bytes& b) { Fixed(b).probed_count = 0xff; }},
      {"raw less", kDataLoss, [](Bytes& b) { Fixed(b).raw_bytes -= 8; }},
      {"raw more", kDataLoss, [](Bytes& b) { Fixed(b).raw_bytes += 8; }},
      {"raw wraps", kDataLoss, [](Bytes& b) { Fixed(b).raw_bytes = 0u - 8; }},
      {"end", kDataLoss, [](Bytes& b) { Fixed(b).end = END_REASON_COUNT; }},
      {"end at the limit", kDataLoss, [](Bytes& b) { Fixed(b).end = 0xff; }},
      {"range kind 0", kDataLoss, [](Bytes& b) { RangeOf(b, 0).kind = 0; }},
      {"range kind 4", kDataLoss, [](Bytes& b) { RangeOf(b, 1).kind = 4; }},
      {"empty range", kDataLoss, [](Bytes& b) { RangeOf(b, 0).end = RangeOf(b, 0).start; }},
      {"range backwards", kDataLoss, [](Bytes& b) { RangeOf(b, 1).start = ~0ull; }},
      {"frame of range 2", kDataLoss,
       [](Bytes& b) { Word(b, kUserAt) |= 2ull << FRAME_RANGE_SHIFT; }},
      {"Python's frame without its second word", kDataLoss,
       [](Bytes& b) { Word(b, kRangesAt - 8) = uint64_t{FRAME_RUNTIME} << FRAME_KIND_SHIFT; }},
      {"a run's end of range 2", kDataLoss,
       [](Bytes& b) {
         Word(b, kUserAt) = uint64_t{FRAME_RUN_END} << FRAME_KIND_SHIFT | uint64_t{2}
                                                                              << FRAME_RANGE_SHIFT;
       }},
      {"a JVM's frame without its second word", kDataLoss,
       [](Bytes& b) { Word(b, kRangesAt - 8) = uint64_t{FRAME_OF_STACK} << FRAME_KIND_SHIFT; }},
      {"frame of kind 6", kDataLoss,
       [](Bytes& b) { Word(b, kUserAt) = uint64_t{6} << FRAME_KIND_SHIFT; }},
      {"a runtime's mark on no native frame", kDataLoss,
       [](Bytes& b) { Word(b, kUserAt) = uint64_t{FRAME_OF_RUNTIME | 2} << FRAME_KIND_SHIFT; }},
      {"frame of kind 15", kDataLoss, [](Bytes& b) { Word(b, kUserAt + 8) = ~0ull; }},
  };
  for (const Damage& damage : damages) {
    Bytes bytes = Sample();
    damage.apply(bytes);
    EXPECT_EQ(bytes.Code(), damage.code) << damage.what;
  }
}

// Counts over their bounds are refused also when the record is as long as they say.
TEST(DecodeRecord, CountsOverTheirBounds) {
  struct Case {
    size_t kernel, user, ranges, raw;
    bool good;
  };
  const Case cases[] = {{SAMPLE_MAX_KERNEL_FRAMES, SAMPLE_MAX_USER_WORDS, SAMPLE_MAX_RANGES,
                         RAW_STACK_MAX_BYTES, true},
                        {SAMPLE_MAX_KERNEL_FRAMES + 1, 0, 0, 0, false},
                        {0, SAMPLE_MAX_USER_WORDS + 1, 0, 0, false},
                        {0, 0, SAMPLE_MAX_RANGES + 1, 0, false},
                        {0, 0, 0, RAW_STACK_MAX_BYTES + 8, false}};
  for (const Case& c : cases) {
    Bytes bytes(sizeof(sample_record) + 8 * (c.kernel + c.user) + sizeof(code_range) * c.ranges +
                c.raw);
    FillHeader(bytes, RECORD_SAMPLE);
    sample_record& record = Fixed(bytes);
    record.kernel_count = static_cast<u16>(c.kernel);
    record.user_words = static_cast<u16>(c.user);
    record.range_count = static_cast<u16>(c.ranges);
    record.raw_bytes = static_cast<u32>(c.raw);
    uint8_t* at = bytes.data() + sizeof(sample_record) + 8 * c.kernel;
    for (size_t i = 0; i < c.user; ++i, at += 8) {
      const uint64_t word = uint64_t{FRAME_NO_RANGE} << FRAME_KIND_SHIFT;
      std::memcpy(at, &word, sizeof(word));
    }
    for (size_t i = 0; i < c.ranges; ++i, at += sizeof(code_range)) {
      const code_range range = Range(4096 * (i + 1));
      std::memcpy(at, &range, sizeof(range));
    }
    EXPECT_EQ(bytes.Decode().ok(), c.good) << c.kernel << " " << c.user << " " << c.ranges;
  }
}

TEST(DecodeRecord, CodeOfARuntime) {
  const auto make = [](std::vector<u32> sizes, size_t tail) {
    Bytes bytes(sizeof(code_record) + tail);
    FillHeader(bytes, RECORD_CODE);
    auto* record = bytes.As<code_record>();
    record->code = 0x1234;
    record->piece_count = static_cast<u32>(sizes.size());
    for (size_t i = 0; i < sizes.size() && i < CODE_MAX_PIECES; ++i)
      record->pieces[i] = {.address = 0x1000 * (i + 1), .bytes = sizes[i], .reserved = 0};
    return bytes;
  };
  Bytes good = make({5, 0, 16}, 24);
  good.data()[sizeof(code_record) + 8] = 77;
  const absl::StatusOr<Record> record = good.Decode();
  ASSERT_TRUE(record.ok());
  const auto* code = std::get_if<CodeMemory>(&*record);
  ASSERT_NE(code, nullptr);
  ASSERT_EQ(code->pieces.size(), 3u);
  EXPECT_EQ(code->bytes[0].size(), 5u);
  EXPECT_TRUE(code->bytes[1].empty());
  ASSERT_EQ(code->bytes[2].size(), 16u);
  EXPECT_EQ(code->bytes[2][0], 77);
  EXPECT_TRUE(make({}, 0).Decode().ok());
  EXPECT_TRUE(make({CODE_PIECE_MAX_BYTES}, CODE_PIECE_MAX_BYTES).Decode().ok());
  EXPECT_EQ(make({5, 0, 16}, 16).Code(), kDataLoss);
  EXPECT_EQ(make({5, 0, 16}, 32).Code(), kDataLoss);
  EXPECT_EQ(make({~0u}, 24).Code(), kDataLoss);
  EXPECT_EQ(make({CODE_PIECE_MAX_BYTES + 8}, CODE_PIECE_MAX_BYTES + 8).Code(), kDataLoss);
  EXPECT_EQ(make(std::vector<u32>(CODE_MAX_PIECES + 1, 8), 8 * (CODE_MAX_PIECES + 1)).Code(),
            kDataLoss);
}

TEST(DecodeRecord, APieceOfAStack) {
  const auto make = [](u64 address, u32 used, size_t size = sizeof(stack_record)) {
    Bytes bytes(size);
    FillHeader(bytes, RECORD_STACK);
    auto* record = bytes.As<stack_record>();
    record->address = address;
    record->bytes_used = used;
    return bytes;
  };
  Bytes good = make(0x7000, 4096);
  good.data()[offsetof(stack_record, bytes) + 1] = 77;
  const absl::StatusOr<Record> record = good.Decode();
  ASSERT_TRUE(record.ok());
  const auto* piece = std::get_if<StackPiece>(&*record);
  ASSERT_NE(piece, nullptr);
  EXPECT_EQ(piece->record->address, 0x7000u);
  ASSERT_EQ(piece->bytes.size(), 4096u);
  EXPECT_EQ(piece->bytes[1], 77);
  EXPECT_TRUE(make(0x7000, STACK_PIECE_BYTES).Decode().ok());
  EXPECT_EQ(make(0x7000, STACK_PIECE_BYTES + 8).Code(), kDataLoss);
  EXPECT_EQ(make(0x7000, 4095).Code(), kDataLoss);
  EXPECT_EQ(make(UINT64_MAX - 4095, 4096).Code(), kDataLoss);
  EXPECT_EQ(make(0x7000, 4096, sizeof(stack_record) + 8).Code(), kDataLoss);
  EXPECT_EQ(make(0x7000, 4096, sizeof(stack_record) - 8).Code(), kDataLoss);
}

template <typename Waits>
Bytes WaitRecord(record_type type, uint64_t out_ns, size_t size = sizeof(Waits)) {
  Bytes bytes(size);
  FillHeader(bytes, type);
  bytes.As<Waits>()->out_ns = out_ns;
  return bytes;
}

TEST(DecodeRecord, WaitsOfAThread) {
  Bytes good = WaitRecord<wait_end_record>(RECORD_WAIT_END, 12345);
  const auto end = good.Decode();
  ASSERT_TRUE(end.ok() && std::holds_alternative<WaitEnd>(*end)) << end.status();
  EXPECT_EQ(std::get<WaitEnd>(*end).record->out_ns, 12345u);
  EXPECT_EQ(WaitRecord<wait_end_record>(RECORD_WAIT_END, 12346).Code(), kDataLoss) << "backwards";
  Bytes sums = WaitRecord<waited_record>(RECORD_WAITED, 42);
  const auto sum = sums.Decode();
  ASSERT_TRUE(sum.ok() && std::holds_alternative<Waited>(*sum)) << sum.status();
  EXPECT_EQ(std::get<Waited>(*sum).record->out_ns, 42u);
  EXPECT_EQ(WaitRecord<waited_record>(RECORD_WAITED, 0, 80).Code(), kDataLoss);
}

TEST(DecodeRecord, OriginsAndWeightsAreBounded) {
  Bytes bytes = Sample();
  bytes.As<sample_record>()->origin = ORIGIN_OFF_CPU;
  bytes.As<sample_record>()->weight_shift = MAX_WEIGHT_SHIFT;
  EXPECT_TRUE(bytes.Decode().ok());
  bytes.As<sample_record>()->weight_shift = MAX_WEIGHT_SHIFT + 1;
  EXPECT_EQ(bytes.Code(), kDataLoss);
  bytes.As<sample_record>()->weight_shift = 0;
  bytes.As<sample_record>()->origin = ORIGIN_COUNT;
  EXPECT_EQ(bytes.Code(), kDataLoss);
}

TEST(DecodeRecord, ProcessEventsAndMisses) {
  for (const record_type type :
       {RECORD_EXEC, RECORD_FORK, RECORD_EXIT, RECORD_EXISTING, RECORD_MOVED}) {
    Bytes bytes(sizeof(process_record));
    FillHeader(bytes, type);
    bytes.As<process_record>()->process.pid = 42;
    const absl::StatusOr<Record> record = bytes.Decode();
    ASSERT_TRUE(record.ok());
    const auto* event = std::get_if<ProcessEvent>(&*record);
    ASSERT_NE(event, nullptr);
    EXPECT_EQ(event->record->process.pid, 42u);
  }
  Bytes miss(sizeof(miss_record));
  FillHeader(miss, RECORD_MISS);
  miss.As<miss_record>()->range = Range(0x1000);
  const absl::StatusOr<Record> record = miss.Decode();
  ASSERT_TRUE(record.ok());
  ASSERT_NE(std::get_if<TableMiss>(&*record), nullptr);
  miss.As<miss_record>()->range.kind = 9;
  EXPECT_EQ(miss.Code(), kDataLoss);
}

// An exec of /usr/bin/x in v2's /s.slice/u and v1's /d, with its padding.
Bytes ExecWithNames() {
  const std::string names("x\0bin\0usr\0u\0s.slice\0d\0", 22);
  Bytes bytes(sizeof(process_record) + 24);
  FillHeader(bytes, RECORD_EXEC);
  bytes.As<process_record>()->path_bytes = 10;
  bytes.As<process_record>()->cgroup_bytes = 10;
  bytes.As<process_record>()->cgroup_v1_bytes = 2;
  std::memcpy(bytes.data() + sizeof(process_record), names.data(), names.size());
  return bytes;
}

TEST(DecodeRecord, NamesOfAProcess) {
  Bytes bytes = ExecWithNames();
  const absl::StatusOr<Record> record = bytes.Decode();
  ASSERT_TRUE(record.ok()) << record.status();
  const auto& event = std::get<ProcessEvent>(*record);
  EXPECT_EQ(PathOf(event.executable), "/usr/bin/x");
  EXPECT_EQ(PathOf(event.cgroup), "/s.slice/u");
  EXPECT_EQ(PathOf(event.cgroup_v1), "/d");
  EXPECT_EQ(event.cgroups.size(), 12u);
}

TEST(DecodeRecord, NamesThatContradictTheirSizes) {
  for (const int change : {-1, +1, 24, 5000}) {
    Bytes bytes = ExecWithNames();
    bytes.As<process_record>()->path_bytes = static_cast<u16>(10 + change);
    EXPECT_EQ(bytes.Code(), kDataLoss) << change;
  }
  Bytes bytes = ExecWithNames();  // A list that does not end with a NUL.
  bytes.data()[sizeof(process_record) + 9] = 'r';
  EXPECT_EQ(bytes.Code(), kDataLoss);
}

TEST(PathOf, Components) {
  const auto path = [](const char* text, size_t size) { return PathOf({text, size}); };
  EXPECT_EQ(path("", 0), "");
  EXPECT_EQ(path("a\0", 2), "/a");
  EXPECT_EQ(path("b\0a\0", 4), "/a/b");
  EXPECT_EQ(path("\0", 1), "/");
  EXPECT_EQ(path("\0a\0", 3), "/a/");
}

TEST(DecodeRecord, RandomDamageNeverLeadsOutside) {
  std::mt19937_64 random(1);
  size_t refused = 0;
  for (int i = 0; i < 20'000; ++i) {
    Bytes bytes = Sample();
    for (uint64_t n = 1 + random() % 4; n > 0; --n)
      bytes.data()[random() % kSampleBytes] = static_cast<uint8_t>(random());
    const absl::StatusOr<Record> record = bytes.Decode();
    refused += !record.ok();
    if (!record.ok()) continue;
    const auto* sample = std::get_if<RawSample>(&*record);
    if (sample == nullptr) continue;
    for (size_t at = 0; at < sample->user.size(); at += FrameWordCount(sample->user[at]))
      ASSERT_TRUE(!IsNativeKind(FrameWordKind(sample->user[at])) ||
                  FrameWordRange(sample->user[at]) < sample->ranges.size());
  }
  EXPECT_GT(refused, 1'000u);
}

// A sample with a context behind its slice.
Bytes SampleWithContext(uint16_t label_bytes, size_t tail_bytes, uint8_t kind = CONTEXT_OTEL) {
  Bytes plain = Sample();
  Bytes bytes(kSampleBytes + tail_bytes);
  std::memcpy(bytes.data(), plain.data(), kSampleBytes);
  FillHeader(bytes, RECORD_SAMPLE);
  bytes.As<sample_record>()->more_flags = SAMPLE_HAS_CONTEXT >> SAMPLE_MORE_SHIFT;
  if (tail_bytes >= sizeof(context_part)) {
    auto* part = reinterpret_cast<context_part*>(bytes.data() + kSampleBytes);
    part->kind = kind;
    part->label_bytes = label_bytes;
    part->span_id[0] = 7;
  }
  return bytes;
}

TEST(DecodeRecord, AContextIsBehindAllOtherParts) {
  Bytes bytes = SampleWithContext(5, sizeof(context_part) + 8);
  const absl::StatusOr<Record> record = bytes.Decode();
  ASSERT_TRUE(record.ok()) << record.status();
  const auto& sample = std::get<RawSample>(*record);
  EXPECT_EQ(sample.raw_stack.size(), kRaw);
  const auto part = DecodeContext(sample.context);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->part->span_id[0], 7);
  EXPECT_EQ(part->labels.size(), 5u);
  EXPECT_TRUE(std::get<RawSample>(*Sample().Decode()).context.empty());
}

TEST(DecodeRecord, ADamagedContextIsRefused) {
  const struct {
    const char* what;
    Bytes bytes;
  } cases[] = {
      {"none behind the flag", SampleWithContext(0, 0)},
      {"half of one", SampleWithContext(0, 16)},
      {"labels that are not there", SampleWithContext(9, sizeof(context_part) + 8)},
      {"more than its labels", SampleWithContext(1, sizeof(context_part) + 16)},
      {"too many labels", SampleWithContext(641, sizeof(context_part) + 648)},
      {"of no kind", SampleWithContext(0, sizeof(context_part), CONTEXT_NONE)},
      {"of an unknown kind", SampleWithContext(0, sizeof(context_part), CONTEXT_KINDS)},
  };
  for (const auto& c : cases) EXPECT_EQ(Bytes(c.bytes).Code(), kDataLoss) << c.what;
  Bytes without_flag = SampleWithContext(0, sizeof(context_part));
  without_flag.As<sample_record>()->more_flags = 0;
  EXPECT_EQ(without_flag.Code(), kDataLoss);
}

}  // namespace
}  // namespace stackray
