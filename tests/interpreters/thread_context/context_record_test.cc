// Reading a thread's context from made-up memory: whole records, and everything that can be wrong
// with one.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/scratch.h"
#include "tests/interpreters/fake_memory.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define barrier_var(variable) asm volatile("" : "+r"(variable))

namespace stackray::test {
namespace {

// The memory of the test at hand, and how often it was asked.
FakeMemory* memory = nullptr;
int reads = 0;

int env_read(scratch*, void* to, u32 bytes, u64 from) {
  ++reads;
  return memory->Read(from, {static_cast<uint8_t*>(to), bytes}) ? END_NONE : END_READ_FAULT;
}
int env_next_label(scratch* s);
}  // namespace

#include "bpf/context_record.h"

namespace {
int env_next_label(scratch* s) { return next_label(s); }

constexpr u64 kThread = 0x7000, kVariable = 0x6ff8, kRecord = 0x10000;
constexpr int kMostReads = 80;

class ContextRecord : public testing::Test {
 protected:
  ContextRecord() : scratch_(std::make_unique<scratch>()) {
    memory = &memory_;
    reads = 0;
    walk().thread_pointer = kThread;
    walk().wants_labels = 1;
    place_.offset = static_cast<s64>(kVariable) - static_cast<s64>(kThread);
  }

  context_walk& walk() { return scratch_->context; }
  scratch* s() { return scratch_.get(); }

  // As bpf/thread_context.h has it.
  int Read(context_kind kind) {
    reads = 0;
    begin_context(&walk(), kind);
    if (const int result = find_context_variable(s(), &place_)) return result;
    int result = CONTEXT_BROKEN;
    if (kind == CONTEXT_GO_LABELS || kind == CONTEXT_GO_MAP) {
      result = find_go_labels(s(), &place_);
      if (result == CONTEXT_FOUND) result = read_go_labels(s());
    } else if (kind == CONTEXT_NODE) {
      result = read_node_record(s());
    } else {
      result = read_by_pointer(s());
    }
    if (result == CONTEXT_FOUND) finish_context(&walk());
    EXPECT_LE(reads, kMostReads);
    EXPECT_LE(walk().part.label_bytes, CONTEXT_LABEL_BYTES);
    return result;
  }

  // A record of OTEP 4947 with ids 1, 2, 3 … and these labels.
  void PutRecord(u64 at, std::string_view labels, uint8_t valid = 1) {
    for (u64 i = 0; i < 24; ++i) memory_.Put<uint8_t>(at + i, static_cast<uint8_t>(i + 1));
    memory_.Put<uint8_t>(at + 24, valid);
    memory_.Put<uint8_t>(at + 25, 1);
    memory_.Put<uint16_t>(at + 26, static_cast<uint16_t>(labels.size()));
    PutText(at + 28, labels);
  }
  void PutText(u64 at, std::string_view text) {
    memory_.PutBytes(at, {reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  }
  std::string Labels() {
    return {reinterpret_cast<const char*>(walk().labels), walk().part.label_bytes};
  }
  u64 FirstIdWord() {
    u64 word = 0;
    std::memcpy(&word, walk().part.trace_id, sizeof(word));
    return word;
  }

  FakeMemory memory_;
  context_place place_ = {};

 private:
  std::unique_ptr<scratch> scratch_;
};

TEST_F(ContextRecord, OfAThreadIsReadWhole) {
  memory_.Put<u64>(kVariable, kRecord);
  const std::string labels(
      "\x00\x04/one\x01\x01"
      "b",
      9);
  PutRecord(kRecord, labels);
  ASSERT_EQ(Read(CONTEXT_OTEL), CONTEXT_FOUND);
  EXPECT_EQ(Labels(), labels);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(walk().part.trace_id[i], i + 1);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(walk().part.span_id[i], i + 17);
  EXPECT_EQ(walk().part_bytes, sizeof(context_part) + 16);
  for (size_t i = labels.size(); i < 16; ++i) EXPECT_EQ(walk().labels[i], 0);
}

TEST_F(ContextRecord, IdsAloneNeedOneReadLess) {
  walk().wants_labels = 0;
  memory_.Put<u64>(kVariable, kRecord);
  PutRecord(kRecord, "\x01\x01x");
  ASSERT_EQ(Read(CONTEXT_OTEL), CONTEXT_FOUND);
  EXPECT_EQ(walk().part.label_bytes, 0);
  EXPECT_EQ(walk().part_bytes, sizeof(context_part));
  EXPECT_EQ(reads, 2);
}

TEST_F(ContextRecord, NothingIsAttached) {
  memory_.Put<u64>(kVariable, 0);
  EXPECT_EQ(Read(CONTEXT_OTEL), CONTEXT_NOTHING);
}

TEST_F(ContextRecord, ZeroIdsWithLabelsKeepTheLabels) {
  memory_.Put<u64>(kVariable, kRecord);
  PutRecord(kRecord, "\x01\x01x");
  for (u64 i = 0; i < 24; ++i) memory_.Put<uint8_t>(kRecord + i, 0);
  ASSERT_EQ(Read(CONTEXT_OTEL), CONTEXT_FOUND);
  EXPECT_GT(walk().part_bytes, sizeof(context_part));
}

TEST_F(ContextRecord, DamageDropsIt) {
  memory_.Put<u64>(kVariable, kRecord);
  for (const uint8_t valid : {0, 2, 255}) {
    PutRecord(kRecord, "\x01\x01x", valid);
    EXPECT_EQ(Read(CONTEXT_OTEL), CONTEXT_BROKEN) << int{valid};
  }
  // The labels end behind readable memory.
  PutRecord(kRecord, "\x01\x01x");
  memory_.Put<uint16_t>(kRecord + 26, 600);
  EXPECT_EQ(Read(CONTEXT_OTEL), CONTEXT_UNREADABLE);
  // The pointer leads nowhere, into the kernel, to itself.
  for (const u64 at : {u64{1}, u64{0xffffffff81000000}, ~u64{0}, u64{0xdead0000}}) {
    memory_.Put<u64>(kVariable, at);
    EXPECT_EQ(Read(CONTEXT_OTEL), CONTEXT_UNREADABLE) << at;
  }
  memory_.Put<u64>(kVariable, kVariable);
  EXPECT_NE(Read(CONTEXT_OTEL), CONTEXT_FOUND);
}

TEST_F(ContextRecord, HugeSizesAreCutAndMarked) {
  memory_.Put<u64>(kVariable, kRecord);
  PutRecord(kRecord, std::string(65535, '\x02'));
  ASSERT_EQ(Read(CONTEXT_OTEL), CONTEXT_FOUND);
  EXPECT_EQ(walk().part.label_bytes, CONTEXT_LABEL_BYTES);
  EXPECT_NE(walk().part.flags & CONTEXT_CUT, 0);
  EXPECT_EQ(walk().part_bytes, CONTEXT_WORDS * 8);
}

class ModuleBlock : public ContextRecord {
 protected:
  static constexpr u64 kVector = 0x20000, kBlock = 0x30000;
  void UseModule(u32 module, u8 entry_bytes, s8 vector_at) {
    place_.in_module = 1;
    place_.module = module;
    place_.entry_bytes = entry_bytes;
    place_.vector_at = vector_at;
    place_.offset = 0x40;
    memory_.Put<u64>(kThread + static_cast<u64>(s64{vector_at}), kVector);
    memory_.Put<u64>(kBlock + 0x40, kRecord);
    PutRecord(kRecord, "");
  }
};

TEST_F(ModuleBlock, OfGlibcAndOfMusl) {
  UseModule(3, 16, 8);
  memory_.Put<u64>(kVector - 16, 5);  // glibc's length.
  memory_.Put<u64>(kVector + 48, kBlock);
  EXPECT_EQ(Read(CONTEXT_OTEL), CONTEXT_FOUND);
  UseModule(3, 8, -8);
  memory_.Put<u64>(kVector, 5);  // musl's.
  memory_.Put<u64>(kVector + 24, kBlock);
  EXPECT_EQ(Read(CONTEXT_OTEL), CONTEXT_FOUND);
}

TEST_F(ModuleBlock, ThatThisThreadHasNotUsedHoldsNothing) {
  UseModule(3, 16, 8);
  memory_.Put<u64>(kVector - 16, 5);
  for (const u64 block : {~u64{0}, u64{0}}) {
    memory_.Put<u64>(kVector + 48, block);
    EXPECT_EQ(Read(CONTEXT_OTEL), CONTEXT_NOTHING);
  }
  memory_.Put<u64>(kVector + 48, kBlock);
  memory_.Put<u64>(kVector - 16, 2);  // The vector is shorter.
  EXPECT_EQ(Read(CONTEXT_OTEL), CONTEXT_NOTHING);
  memory_.Put<u64>(kThread + 8, 0);  // There is none.
  EXPECT_EQ(Read(CONTEXT_OTEL), CONTEXT_NOTHING);
  memory_.Put<u64>(kThread + 8, 0xdead000);
  EXPECT_EQ(Read(CONTEXT_OTEL), CONTEXT_UNREADABLE);
}

class NamedLabels : public ContextRecord {
 protected:
  static constexpr u64 kList = 0x40000, kTexts = 0x50000;

  u64 Text(std::string_view text) {
    const u64 at = kTexts + texts_;
    PutText(at, text);
    texts_ += text.size() + 1;
    return at;
  }
  // Entries of Go's list.
  void PutGoLabels(const std::vector<std::pair<std::string, std::string>>& labels) {
    u64 at = kList;
    for (const auto& [key, value] : labels) {
      for (const u64 word : {Text(key), u64{key.size()}, Text(value), u64{value.size()}}) {
        memory_.Put<u64>(at, word);
        at += 8;
      }
    }
    PutGoroutine();
    memory_.Put<u64>(kRecord, kList);
    memory_.Put<u64>(kRecord + 8, labels.size());
  }
  // g → m → curg → labels at kRecord.
  void PutGoroutine() {
    constexpr u64 kG = 0x60000, kM = 0x61000, kCurrent = 0x62000;
    place_.m_current = 184;
    place_.g_labels = 344;
    memory_.Put<u64>(kVariable, kG);
    memory_.Put<u64>(kG + 48, kM);
    memory_.Put<u64>(kM + 184, kCurrent);
    memory_.Put<u64>(kCurrent + 48, kM);
    memory_.Put<u64>(kCurrent + 344, kRecord);
  }
  static std::string Entry(std::string_view key, std::string_view value) {
    std::string entry;
    entry += static_cast<char>(key.size());
    entry += static_cast<char>(value.size());
    return entry.append(key).append(value);
  }

 private:
  u64 texts_ = 0;
};

TEST_F(NamedLabels, OfAGoroutine) {
  PutGoLabels({{"route", "/a"}, {"span_id", "0011223344556677"}});
  ASSERT_EQ(Read(CONTEXT_GO_LABELS), CONTEXT_FOUND);
  EXPECT_EQ(Labels(), Entry("route", "/a") + Entry("span_id", "0011223344556677"));
  walk().wants_labels = 0;
  ASSERT_EQ(Read(CONTEXT_GO_LABELS), CONTEXT_FOUND);
  EXPECT_EQ(Labels(), Entry("span_id", "0011223344556677"));
}

TEST_F(NamedLabels, OfAGoroutineInAHash) {
  PutGoroutine();
  constexpr u64 kHash = 0x70000, kBuckets = 0x71000;
  memory_.Put<u64>(kRecord, kHash);
  memory_.Put<u64>(kHash, 2);
  memory_.Put<u64>(kHash + 8, 0x0100);  // Two buckets.
  memory_.Put<u64>(kHash + 16, kBuckets);
  for (u64 i = 0; i < 2 * GO_BUCKET_BYTES; ++i) memory_.Put<uint8_t>(kBuckets + i, 0);
  const auto put = [&](u64 bucket, u64 slot, std::string_view key, std::string_view value) {
    const u64 at = kBuckets + bucket * GO_BUCKET_BYTES;
    memory_.Put<uint8_t>(at + slot, 0x80);
    memory_.Put<u64>(at + 8 + 16 * slot, Text(key));
    memory_.Put<u64>(at + 16 + 16 * slot, key.size());
    memory_.Put<u64>(at + 136 + 16 * slot, Text(value));
    memory_.Put<u64>(at + 144 + 16 * slot, value.size());
  };
  put(0, 7, "first", "1");
  put(1, 0, "second", "2");
  ASSERT_EQ(Read(CONTEXT_GO_MAP), CONTEXT_FOUND);
  EXPECT_EQ(Labels(), Entry("first", "1") + Entry("second", "2"));
  EXPECT_EQ(walk().part.flags, 0);
  memory_.Put<u64>(kHash + 8, 0xff00);  // 2^255 buckets.
  EXPECT_EQ(Read(CONTEXT_GO_MAP), CONTEXT_BROKEN);
  memory_.Put<u64>(kHash + 8, 0x0100);
  memory_.Put<u64>(kBuckets + GO_BUCKET_BYTES - 8, 0x1234);  // There is an overflow.
  ASSERT_EQ(Read(CONTEXT_GO_MAP), CONTEXT_FOUND);
  EXPECT_NE(walk().part.flags & CONTEXT_CUT, 0);
}

TEST_F(NamedLabels, OfAGoroutineThatIsOfAnotherThreadAreNone) {
  PutGoLabels({{"route", "/a"}});
  memory_.Put<u64>(0x62000 + 48, 0x61008);
  EXPECT_EQ(Read(CONTEXT_GO_LABELS), CONTEXT_BROKEN);
  memory_.Put<u64>(0x61000 + 184, 0);  // The thread runs none.
  EXPECT_EQ(Read(CONTEXT_GO_LABELS), CONTEXT_NOTHING);
  memory_.Put<u64>(kVariable, 0);
  EXPECT_EQ(Read(CONTEXT_GO_LABELS), CONTEXT_NOTHING);
}

TEST_F(NamedLabels, BeyondTheBoundsAreLeftOutAndMarked) {
  const auto expect_cut = [&](const std::vector<std::pair<std::string, std::string>>& labels,
                              const std::string& wanted) {
    PutGoLabels(labels);
    ASSERT_EQ(Read(CONTEXT_GO_LABELS), CONTEXT_FOUND);
    EXPECT_NE(walk().part.flags & CONTEXT_CUT, 0);
    EXPECT_EQ(Labels(), wanted);
  };
  expect_cut({{std::string(65, 'k'), "v"}, {"k", "v"}}, Entry("k", "v"));
  expect_cut({{"k", std::string(300, 'v')}}, Entry("k", std::string(255, 'v')));
  const std::string long_value(255, 'v');
  expect_cut({{"a", long_value}, {"b", long_value}, {"c", long_value}},
             Entry("a", long_value) + Entry("b", long_value));
  std::vector<std::pair<std::string, std::string>> many(17, {"k", "v"});
  std::string wanted;
  for (int i = 0; i < CONTEXT_MAX_LABELS; ++i) wanted += Entry("k", "v");
  expect_cut(many, wanted);
}

TEST_F(NamedLabels, ThatSayMoreThanThereIs) {
  PutGoLabels({{"k", "v"}});
  for (const u64 count : {~u64{0}, u64{1} << 40}) {
    memory_.Put<u64>(kRecord + 8, count);
    EXPECT_EQ(Read(CONTEXT_GO_LABELS), CONTEXT_FOUND);
    EXPECT_EQ(Labels(), Entry("k", "v"));
  }
  memory_.Put<u64>(kRecord, 0xdead0000);
  EXPECT_EQ(Read(CONTEXT_GO_LABELS), CONTEXT_NOTHING);
}

TEST_F(NamedLabels, OfCustomLabels) {
  memory_.Put<u64>(kVariable, kRecord);
  memory_.Put<u64>(kRecord, kList);
  memory_.Put<u64>(kRecord + 8, 2);
  const u64 words[] = {0, 0, 1, Text("x"), 4, Text("user"), 3, Text("ann")};
  for (size_t i = 0; i < std::size(words); ++i) memory_.Put<u64>(kList + 8 * i, words[i]);
  ASSERT_EQ(Read(CONTEXT_CUSTOM_LABELS), CONTEXT_FOUND);
  EXPECT_EQ(Labels(), Entry("user", "ann"));
}

TEST_F(ContextRecord, OfElastic) {
  memory_.Put<u64>(kVariable, kRecord);
  const auto put = [&](uint8_t valid, uint8_t present) {
    memory_.Put<uint16_t>(kRecord, 1);
    memory_.Put<uint8_t>(kRecord + 2, valid);
    memory_.Put<uint8_t>(kRecord + 3, present);
    for (u64 i = 4; i < 37; ++i) memory_.Put<uint8_t>(kRecord + i, static_cast<uint8_t>(i));
  };
  put(1, 1);
  ASSERT_EQ(Read(CONTEXT_ELASTIC), CONTEXT_FOUND);
  EXPECT_EQ(walk().part.trace_id[0], 5);
  EXPECT_EQ(walk().part.span_id[0], 21);
  put(1, 0);
  EXPECT_EQ(Read(CONTEXT_ELASTIC), CONTEXT_NOTHING);
  put(0, 1);
  EXPECT_EQ(Read(CONTEXT_ELASTIC), CONTEXT_BROKEN);
}

class NodeRecord : public ContextRecord {
 protected:
  static constexpr u64 kSlot = 0x80000, kHandle = 0x80100, kKey = 0x81001, kUndefined = 0x82001;
  static constexpr u64 kMap = 0x83001, kTable = 0x84001, kWrapper = 0x85001;
  static constexpr u64 kBuckets = 2, kHash = 5;

  static u64 Small(u64 number) { return number << 32; }
  // The request's value is the second entry of its bucket's chain.
  void PutTables(u64 field) {
    for (const auto& [at, word] :
         std::initializer_list<std::pair<u64, u64>>{{kVariable, kSlot},
                                                    {kVariable + 8, kHandle},
                                                    {kVariable + 16, kHash},
                                                    {kVariable + 24, kUndefined},
                                                    {kSlot, kMap},
                                                    {kHandle, kKey},
                                                    {kMap - 1 + 24, kTable},
                                                    {kTable - 1 + 16, Small(2)},
                                                    {kTable - 1 + 24, Small(0)},
                                                    {kTable - 1 + 32, Small(kBuckets)},
                                                    {kTable - 1 + 40, ~u64{0} << 32},
                                                    {kTable - 1 + 48, Small(1)}})
      memory_.Put<u64>(at, word);
    PutEntry(1, 0x99991, 0x99992, Small(0));
    PutEntry(0, kKey, kWrapper, ~u64{0} << 32);
    memory_.Put<u64>(kWrapper - 1 + 24, 0);
    memory_.Put<u64>(kWrapper - 1 + 32, 0);
    memory_.Put<u64>(kWrapper - 1 + field, kRecord);
    PutRecord(kRecord, "");
  }
  void PutEntry(u64 entry, u64 key, u64 value, u64 next) {
    const u64 at = kTable - 1 + 40 + 8 * kBuckets + 24 * entry;
    memory_.Put<u64>(at, key);
    memory_.Put<u64>(at + 8, value);
    memory_.Put<u64>(at + 16, next);
  }
};

TEST_F(NodeRecord, IsFoundInBothLayouts) {
  for (const u64 field : {24, 32}) {
    PutTables(field);
    ASSERT_EQ(Read(CONTEXT_NODE), CONTEXT_FOUND);
    EXPECT_EQ(walk().part.trace_id[0], 1);
  }
}

TEST_F(NodeRecord, AbsentOrDetached) {
  PutTables(32);
  memory_.Put<u64>(kSlot, kUndefined);
  EXPECT_EQ(Read(CONTEXT_NODE), CONTEXT_NOTHING);
  PutTables(32);
  memory_.Put<u64>(kVariable, 0);
  EXPECT_EQ(Read(CONTEXT_NODE), CONTEXT_NOTHING);
  PutTables(32);
  PutEntry(0, kKey, kUndefined, ~u64{0} << 32);
  EXPECT_EQ(Read(CONTEXT_NODE), CONTEXT_NOTHING);
  PutEntry(0, 0x99993, kWrapper, ~u64{0} << 32);
  EXPECT_EQ(Read(CONTEXT_NODE), CONTEXT_NOTHING);
  PutTables(32);
  memory_.Put<u64>(kWrapper - 1 + 32, 0);
  EXPECT_EQ(Read(CONTEXT_NODE), CONTEXT_NOTHING);
}

TEST_F(NodeRecord, DamageDropsIt) {
  PutTables(32);
  PutEntry(0, 0x99993, kWrapper, Small(1));  // A chain without an end.
  EXPECT_EQ(Read(CONTEXT_NODE), CONTEXT_BROKEN);
  for (const u64 buckets : {Small(0), Small(3), Small(1 << 20), Small(2) | 1}) {
    PutTables(32);
    memory_.Put<u64>(kTable - 1 + 32, buckets);
    EXPECT_EQ(Read(CONTEXT_NODE), CONTEXT_BROKEN) << buckets;
  }
  PutTables(32);
  memory_.Put<u64>(kTable - 1 + 48, Small(0x7fffffff));
  EXPECT_EQ(Read(CONTEXT_NODE), CONTEXT_UNREADABLE);
  PutTables(32);
  memory_.Put<u64>(kSlot, kMap - 1);  // A number where an object should be.
  EXPECT_EQ(Read(CONTEXT_NODE), CONTEXT_BROKEN);
}

}  // namespace
}  // namespace stackray::test
