// Perf's records about kernel code and the kernel's messages about modules: as they should be, at
// the ring's seam, and with every kind of damage.
#include "kernel/ksymbol_records.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "kernel/module_events.h"

namespace stackray::test {
namespace {

using Bytes = std::vector<uint8_t>;

template <typename T>
void Append(T value, Bytes* out) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(&value);
  out->insert(out->end(), bytes, bytes + sizeof(value));
}

void SetSize(Bytes* record) {
  const auto size = static_cast<uint16_t>(record->size());
  std::memcpy(record->data() + 6, &size, sizeof(size));
}

Bytes Ksymbol(uint64_t address, uint32_t size, uint16_t flags, const std::string& name,
              uint64_t time_ns) {
  Bytes record;
  Append<uint32_t>(PERF_RECORD_KSYMBOL, &record);
  Append<uint32_t>(0, &record);
  Append(address, &record);
  Append(size, &record);
  Append<uint16_t>(PERF_RECORD_KSYMBOL_TYPE_BPF, &record);
  Append(flags, &record);
  record.insert(record.end(), name.begin(), name.end());
  do record.push_back(0);
  while (record.size() % 8 != 0);
  Append(time_ns, &record);
  SetSize(&record);
  return record;
}

Bytes OtherRecord(uint32_t type, size_t payload_bytes) {
  Bytes record;
  Append(type, &record);
  Append<uint32_t>(0, &record);
  record.resize(record.size() + payload_bytes);
  SetSize(&record);
  return record;
}

TEST(Ksymbol, SaysWhatCameAndWent) {
  const Bytes came = Ksymbol(0xffffffffc0022064, 23, 0, "bpf_prog_62efe59b7d4f5ea1_busy", 77);
  const std::optional<CodeEvent> begin = ParseKsymbol(came);
  ASSERT_TRUE(begin);
  EXPECT_EQ(begin->kind, CodeEvent::Kind::kBegin);
  EXPECT_EQ(begin->start, 0xffffffffc0022064u);
  EXPECT_EQ(begin->size_bytes, 23u);
  EXPECT_EQ(begin->name, "bpf_prog_62efe59b7d4f5ea1_busy");
  EXPECT_EQ(begin->time_ns, 77u);
  const std::optional<CodeEvent> end = ParseKsymbol(Ksymbol(0x1000, 1, 1, "a", 78));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->kind, CodeEvent::Kind::kEnd);
}

TEST(Ksymbol, DamageIsRefused) {
  const Bytes good = Ksymbol(0x1000, 16, 0, "name", 5);
  ASSERT_TRUE(ParseKsymbol(good));
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_FALSE(ParseKsymbol({good.data(), size})) << size;
  Bytes longer = good;
  longer.resize(longer.size() + 8);
  EXPECT_FALSE(ParseKsymbol(longer)) << "its header says less";
  EXPECT_FALSE(ParseKsymbol(Ksymbol(0x1000, 16, 0, "", 5)));
  EXPECT_FALSE(ParseKsymbol(Ksymbol(0x1000, 0, 0, "empty", 5)));
  EXPECT_FALSE(ParseKsymbol(Ksymbol(~uint64_t{0} - 3, 16, 0, "wraps", 5)));
  EXPECT_FALSE(ParseKsymbol(Ksymbol(0x1000, 16, 0, std::string(kMaxCodeNameBytes + 64, 'x'), 5)));
  EXPECT_TRUE(ParseKsymbol(Ksymbol(0x1000, 16, 0, std::string(kMaxCodeNameBytes - 1, 'x'), 5)));
  Bytes endless = good;
  for (size_t i = 24; i < endless.size() - 8; ++i) endless[i] = 'x';
  EXPECT_FALSE(ParseKsymbol(endless)) << "a name without an end";
  Bytes other = good;
  other[0] = PERF_RECORD_BPF_EVENT;
  EXPECT_FALSE(ParseKsymbol(other));
}

class PerfRing : public testing::Test {
 protected:
  // Writes as the kernel does, from `tail` on, around the end.
  uint64_t Write(uint64_t at, const Bytes& record) {
    for (const uint8_t byte : record) data_[at++ % data_.size()] = byte;
    return at;
  }
  PerfRingEnd Read(uint64_t tail, uint64_t head) {
    names_.clear();
    return ReadPerfRing(data_, tail, head, [this](CodeEvent e) { names_.push_back(e.name); });
  }
  Bytes data_ = Bytes(4096);
  std::vector<std::string> names_;
};

TEST_F(PerfRing, RecordsGoAroundItsEnd) {
  for (uint64_t start = 4096 * 5 - 200; start < 4096 * 5; start += 8) {
    uint64_t head = start;
    for (const char* name : {"one", "a_longer_name_than_that", "three"})
      head = Write(head, Ksymbol(0x1000, 16, 0, name, 1));
    const PerfRingEnd end = Read(start, head);
    EXPECT_TRUE(end.intact);
    EXPECT_EQ(end.tail, head);
    EXPECT_EQ(names_, (std::vector<std::string>{"one", "a_longer_name_than_that", "three"}));
  }
}

TEST_F(PerfRing, LossesAreTold) {
  uint64_t head = Write(0, Ksymbol(0x1000, 16, 0, "before", 1));
  head = Write(head, OtherRecord(PERF_RECORD_LOST, 24));
  head = Write(head, Ksymbol(0x1000, 16, 0, "behind", 1));
  PerfRingEnd end = Read(0, head);
  EXPECT_FALSE(end.intact);
  EXPECT_EQ(names_, (std::vector<std::string>{"before", "behind"}));

  head = Write(0, OtherRecord(PERF_RECORD_THROTTLE, 24));
  EXPECT_TRUE(Read(0, Write(head, Ksymbol(0x1000, 16, 0, "a", 1))).intact) << "not ours, no loss";
  // Nearly full: the kernel may just have dropped one and not said so yet.
  for (head = 0; head < 4096 - 500;) head = Write(head, Ksymbol(0x1000, 16, 0, "many", 1));
  end = Read(0, head);
  EXPECT_FALSE(end.intact);
  EXPECT_EQ(end.tail, head);
  EXPECT_EQ(names_.size(), head / Ksymbol(0x1000, 16, 0, "many", 1).size());
}

TEST_F(PerfRing, NonsenseEndsAtItsHead) {
  const Bytes good = Ksymbol(0x1000, 16, 0, "good", 1);
  for (const uint16_t size : {0, 7, 4000}) {
    uint64_t head = Write(0, good);
    Bytes bad = good;
    std::memcpy(bad.data() + 6, &size, sizeof(size));
    head = Write(Write(head, bad), good);
    const PerfRingEnd end = Read(0, head);
    EXPECT_FALSE(end.intact) << size;
    EXPECT_EQ(end.tail, head);
    EXPECT_EQ(names_.size(), 1u);
  }
  EXPECT_FALSE(Read(10, 4096 + 11).intact) << "more than there is room for";
  EXPECT_FALSE(Read(100, 50).intact) << "backwards";
  EXPECT_FALSE(Read(0, 4).intact) << "less than a header";
  data_.resize(4000);
  EXPECT_FALSE(Read(0, 48).intact) << "no ring";
}

TEST(ModuleEvent, OnlyModulesOfThatForm) {
  using std::string_literals::operator""s;
  const std::optional<CodeEvent> added =
      ParseModuleEvent("add@/module/dm_mod\0ACTION=add\0SUBSYSTEM=module\0"s);
  ASSERT_TRUE(added);
  EXPECT_EQ(added->kind, CodeEvent::Kind::kModuleAdded);
  EXPECT_EQ(added->name, "dm_mod");
  const std::optional<CodeEvent> removed = ParseModuleEvent("remove@/module/dm_mod"s);
  ASSERT_TRUE(removed);
  EXPECT_EQ(removed->kind, CodeEvent::Kind::kModuleRemoved);
  for (const std::string& text :
       {""s, "add@"s, "add@/module/"s, "add@/module/a/holders"s, "change@/module/a"s,
        "\0add@/module/a"s, "add@/devices/virtual/net/veth0"s,
        "add@/module/" + std::string(99, 'm')})
    EXPECT_FALSE(ParseModuleEvent(text)) << text;
}

}  // namespace
}  // namespace stackray::test
