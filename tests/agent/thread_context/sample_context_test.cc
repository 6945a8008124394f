// What a sample's context says, and everything that can be wrong with its labels.
#include "agent/thread_context/sample_context.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace stackray {
namespace {

using Texts = std::map<std::string, std::string>;

// The bytes behind a sample.
class Part {
 public:
  Part(context_kind kind, std::string labels, uint8_t first_id = 1) : labels_(std::move(labels)) {
    part_.kind = kind;
    part_.label_bytes = static_cast<u16>(labels_.size());
    for (size_t i = 0; i < sizeof(part_.trace_id); ++i)
      part_.trace_id[i] = first_id == 0 ? 0 : static_cast<uint8_t>(first_id + i);
    for (size_t i = 0; i < sizeof(part_.span_id); ++i)
      part_.span_id[i] = first_id == 0 ? 0 : static_cast<uint8_t>(first_id + 100 + i);
  }
  Part& Cut() {
    part_.flags |= CONTEXT_CUT;
    return *this;
  }
  Part& WithoutSpan() {
    std::memset(part_.span_id, 0, sizeof(part_.span_id));
    return *this;
  }
  ThreadContextPart get() const {
    return {&part_, {reinterpret_cast<const uint8_t*>(labels_.data()), labels_.size()}};
  }

 private:
  context_part part_ = {};
  std::string labels_;
};

std::string Indexed(int key, std::string_view value) {
  std::string entry;
  entry += static_cast<char>(key);
  entry += static_cast<char>(value.size());
  return entry.append(value);
}
std::string Named(std::string_view key, std::string_view value) {
  std::string entry;
  entry += static_cast<char>(key.size());
  entry += static_cast<char>(value.size());
  return entry.append(key).append(value);
}

Texts TextsOf(const SampleContext& context) {
  Texts texts;
  for (const auto& [key, value] : context.labels)
    EXPECT_TRUE(texts.emplace(key, value).second) << key << " twice";
  return texts;
}

const std::vector<std::string> kKeys = {"route", "tenant", ""};
const LabelChoice kAll{.labels = true, .names = {"*"}};

TEST(SampleContext, HasIdsAndTheLabelsThatAreKept) {
  const Part part(CONTEXT_OTEL, Indexed(0, "/a") + Indexed(1, "blue"));
  SampleContextReader ids({});
  const SampleContext alone = ids.Read(part.get(), kKeys);
  ASSERT_TRUE(alone.span.has_value());
  EXPECT_EQ(alone.span->trace_id[15], 16);
  EXPECT_EQ(alone.span->span_id[0], 101);
  EXPECT_TRUE(alone.labels.empty());
  SampleContextReader one({.labels = true, .names = {"tenant", "other"}});
  EXPECT_EQ(TextsOf(one.Read(part.get(), kKeys)),
            (Texts{{"process.context.label.tenant", "blue"}}));
  SampleContextReader none({.labels = true, .names = {}});
  EXPECT_TRUE(none.Read(part.get(), kKeys).labels.empty());
  SampleContextReader all(kAll);
  EXPECT_EQ(TextsOf(all.Read(part.get(), kKeys)).size(), 2u);
}

TEST(SampleContext, BothIdsOrNeither) {
  SampleContextReader reader({});
  EXPECT_FALSE(reader.Read(Part(CONTEXT_OTEL, "", 0).get(), kKeys).span.has_value());
  EXPECT_FALSE(reader.Read(Part(CONTEXT_OTEL, "").WithoutSpan().get(), kKeys).span.has_value());
}

TEST(SampleContext, OfARecordTheLastOfARepeatedKeyCounts) {
  SampleContextReader reader(kAll);
  EXPECT_EQ(
      TextsOf(reader.Read(Part(CONTEXT_OTEL, Indexed(0, "a") + Indexed(0, "b")).get(), kKeys)),
      (Texts{{"process.context.label.route", "b"}}));
  EXPECT_EQ(TextsOf(reader.Read(
                Part(CONTEXT_CUSTOM_LABELS, Named("k", "a") + Named("k", "b"), 0).get(), {})),
            (Texts{{"process.context.label.k", "a"}}));
}

TEST(SampleContext, AnIndexBeyondTheKeysIsSaid) {
  SampleContextReader reader(kAll);
  const SampleContext context =
      reader.Read(Part(CONTEXT_NODE, Indexed(200, "x") + Indexed(0, "y")).get(), kKeys);
  EXPECT_FALSE(context.knows_all_keys);
  EXPECT_EQ(TextsOf(context), (Texts{{"process.context.label.route", "y"}}));
}

TEST(SampleContext, IdsOfGosLabels) {
  SampleContextReader reader({});
  const std::string trace = "0af7651916cd43dd8448eb211c80319c", span = "b7ad6b7169203331";
  const auto read = [&](const std::string& labels) {
    return reader.Read(Part(CONTEXT_GO_LABELS, labels, 0).get(), {}).span;
  };
  const auto whole = read(Named("span_id", span) + Named("trace_id", trace));
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->trace_id[0], 0x0a);
  EXPECT_EQ(whole->span_id[7], 0x31);
  EXPECT_FALSE(read(Named("span_id", span)).has_value());
  EXPECT_FALSE(read(Named("span_id", span) + Named("trace_id", trace + "0")).has_value());
  EXPECT_FALSE(read(Named("span_id", "b7ad6b716920333x") + Named("trace_id", trace)).has_value());
  // Of a record such labels say nothing about ids.
  EXPECT_FALSE(reader.Read(Part(CONTEXT_OTEL, Named("span_id", span), 0).get(), kKeys).span);
}

TEST(SampleContext, DamagedLabels) {
  SampleContextReader reader(kAll);
  const std::string route = "process.context.label.route";
  const Texts cut = {{"stackray.context.labels_cut", "true"}};
  const struct {
    const char* what;
    std::string labels;
    Texts wanted;
  } cases[] = {
      {"an entry without its end", Indexed(0, "a") + std::string("\x01\x09xy", 4), {{route, "a"}}},
      {"half a head", Indexed(0, "a") + "\x01", {{route, "a"}}},
      {"a key without a name", Indexed(2, "a"), {}},
      {"an empty value", Indexed(0, ""), {{route, ""}}},
      {"a value cut inside a character",
       Indexed(0, "a\xc3"),
       {{route, "a"}, {"stackray.context.labels_cut", "true"}}},
      {"a value of no text",
       Indexed(0, "\xff\xfe"),
       {{route, ""}, {"stackray.context.labels_cut", "true"}}},
  };
  for (const auto& c : cases)
    EXPECT_EQ(TextsOf(reader.Read(Part(CONTEXT_OTEL, c.labels).get(), kKeys)), c.wanted) << c.what;
  EXPECT_EQ(TextsOf(reader.Read(Part(CONTEXT_OTEL, "").Cut().get(), kKeys)), cut);
  EXPECT_TRUE(
      TextsOf(reader.Read(Part(CONTEXT_GO_LABELS, Named("\xff", "v"), 0).get(), {})).empty());
  SampleContextReader ids({});
  EXPECT_TRUE(ids.Read(Part(CONTEXT_OTEL, "").Cut().get(), kKeys).labels.empty());
}

// Else one set of labels would make several samples of a stack.
TEST(SampleContext, LabelsStandInTheOrderOfTheirNames) {
  SampleContextReader reader(kAll);
  for (const std::string& labels : {Named("b", "2") + Named("c", "3") + Named("a", "1"),
                                    Named("c", "3") + Named("b", "2") + Named("a", "1")}) {
    const Part part = Part(CONTEXT_GO_LABELS, labels, 0).Cut();
    std::string names;
    for (const auto& [name, value] : reader.Read(part.get(), {}).labels)
      names.append(name.substr(name.rfind('.') + 1)).append("=").append(value).append(" ");
    EXPECT_EQ(names, "a=1 b=2 c=3 labels_cut=true ");
  }
}

TEST(SampleContext, ManyLabelsAreBounded) {
  std::string labels;
  for (int i = 0; i < 64; ++i) labels += Named("k" + std::to_string(i), "v");
  SampleContextReader reader(kAll);
  const Texts texts = TextsOf(reader.Read(Part(CONTEXT_GO_LABELS, labels, 0).get(), {}));
  EXPECT_EQ(texts.size(), SampleContextReader::kMostLabels + 1);
  EXPECT_EQ(texts.count("stackray.context.labels_cut"), 1u);
}

}  // namespace
}  // namespace stackray
