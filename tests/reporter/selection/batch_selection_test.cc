// Parts of batches and their groups, counted by the generated message classes.
#include "reporter/selection/batch_selection.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "reporter/check.h"
#include "reporter/proto/profiles.pb.h"
#include "tests/reporter/batch_events.h"
#include "tests/reporter/golden_batch.h"

namespace stackray {
namespace {

namespace otlp = opentelemetry::proto::profiles::v1development;

// f(profile, sample, its link) of each sample.
template <typename F>
void EachSample(const otlp::ProfilesData& data, F f) {
  for (const auto& resource : data.resource_profiles())
    for (const auto& scope : resource.scope_profiles())
      for (const auto& profile : scope.profiles())
        for (const auto& sample : profile.samples())
          f(profile, sample, data.dictionary().link_table(sample.link_index()));
}

otlp::ProfilesData Parsed(const std::string& bytes) {
  otlp::ProfilesData data;
  EXPECT_TRUE(data.ParseFromString(bytes));
  return data;
}

// Events and their sum, by trace.
struct Sums {
  int64_t samples = 0, times = 0, values = 0;
  friend bool operator==(const Sums&, const Sums&) = default;
};
std::map<std::string, Sums> SumsByTrace(const std::string& bytes) {
  std::map<std::string, Sums> sums;
  EachSample(Parsed(bytes), [&](const auto&, const auto& sample, const auto& link) {
    Sums& of = sums[absl::BytesToHexString(link.trace_id())];
    ++of.samples;
    of.times += sample.timestamps_unix_nano_size();
    for (const int64_t value : sample.values()) of.values += value;
  });
  return sums;
}

void ExpectValid(const std::string& bytes) {
  for (const RuleViolation& violation : CheckBatch(bytes))
    ADD_FAILURE() << BatchRuleId(violation.rule) << " " << violation.where;
}

TEST(SelectSamples, KeepsThoseOfATraceAndNothingElse) {
  for (const bool timestamps : {false, true}) {
    const std::string whole = BatchEvents(11, timestamps).Replay(0, 3000).Seal(0, 1)->bytes;
    const std::map<std::string, Sums> sums = SumsByTrace(whole);
    ASSERT_GT(sums.size(), 3u);
    for (const auto& [trace, of] : sums) {
      if (trace.empty()) continue;
      const auto part = SelectSamples(whole, SampleFilter({*TraceCondition(trace)}));
      ASSERT_TRUE(part.ok()) << part.status();
      EXPECT_EQ(SumsByTrace(*part), (std::map<std::string, Sums>{{trace, of}}));
      EXPECT_LT(part->size(), whole.size());
      ExpectValid(*part);
    }
  }
}

TEST(SelectSamples, AllOrNone) {
  const std::string whole = GoldenBatch();
  EXPECT_EQ(*SelectSamples(whole, SampleFilter()), whole);
  EXPECT_EQ(*SelectSamples(whole, SampleFilter({*SpanCondition("0202020202020202")})), whole);
  EXPECT_EQ(*SelectSamples(whole, SampleFilter({*SpanCondition("0202020202020203")})), "");
}

TEST(GroupSamples, EveryStackHasItsGroupOutside) {
  const std::string whole = BatchEvents(12, true).Replay(0, 2000).Seal(0, 1)->bytes;
  const auto grouped = GroupSamples(whole, *SampleGrouping::Parse("trace"));
  ASSERT_TRUE(grouped.ok()) << grouped.status();
  for (const RuleViolation& violation : CheckBatch(*grouped))
    EXPECT_TRUE(violation.rule == BatchRule::kOrphan || violation.rule == BatchRule::kDuplicate)
        << BatchRuleId(violation.rule) << " " << violation.where;
  EXPECT_EQ(SumsByTrace(*grouped), SumsByTrace(whole));
  const otlp::ProfilesData before = Parsed(whole), after = Parsed(*grouped);
  std::vector<const otlp::Sample*> old;
  EachSample(before, [&](const auto&, const auto& sample, const auto&) { old.push_back(&sample); });
  const auto& tables = after.dictionary();
  size_t next = 0;
  EachSample(after, [&](const auto&, const auto& sample, const auto& link) {
    ASSERT_LT(next, old.size());
    const auto& inner =
        before.dictionary().stack_table(old[next++]->stack_index()).location_indices();
    const auto& stack = tables.stack_table(sample.stack_index()).location_indices();
    ASSERT_EQ(stack.size(), inner.size() + 1);
    EXPECT_TRUE(std::equal(inner.begin(), inner.end(), stack.begin()));
    const auto& location = tables.location_table(stack[stack.size() - 1]);
    ASSERT_EQ(location.lines_size(), 1);
    const auto& function = tables.function_table(location.lines(0).function_index());
    EXPECT_EQ(tables.string_table(function.name_strindex()),
              link.trace_id().empty() ? "[no trace]"
                                      : "trace=" + absl::BytesToHexString(link.trace_id()));
  });
  EXPECT_EQ(next, old.size());
}

TEST(BatchSelection, DamagedBytesAreReadWithoutHarm) {
  std::mt19937 random(7);
  const SampleFilter filter({*SpanCondition("0200000000000000")});
  const std::string seeds[] = {GoldenBatch(), BatchEvents(4, true).Replay(0, 60).Seal(1, 2)->bytes};
  int read = 0, refused = 0;
  for (int i = 0; i < 4'000; ++i) {
    std::string bytes = seeds[i % 2];
    for (uint32_t hits = 1 + random() % 4; hits > 0; --hits)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const bool selected = SelectSamples(bytes, filter).ok();
    ++(GroupSamples(bytes, *SampleGrouping::Parse("label:x")).ok() && selected ? read : refused);
  }
  EXPECT_GT(read, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace stackray
