#include "agent/sampling/process_context.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "reporter/valid_text.h"
#include "tests/agent/sampling/context_bytes.h"

namespace stackray::test {
namespace {

using Attributes = std::vector<std::pair<std::string, AttributeValue>>;

std::vector<uint64_t> Addresses(const std::string& text, size_t* used = nullptr) {
  std::vector<uint64_t> addresses;
  const size_t bytes = FindContextMappings(text, &addresses);
  if (used != nullptr) *used = bytes;
  return addresses;
}

std::string Line(const std::string& start, const std::string& name) {
  return fmt::format("{}-7fffffffffff rw-p 00000000 00:01 568267    {}\n", start, name);
}

TEST(ContextMappings, AreFoundByTheirName) {
  const struct {
    std::string text;
    std::vector<uint64_t> addresses;
  } kCases[] = {
      {"", {}},
      {Line("1000", "/usr/lib/libc.so.6"), {}},
      {Line("7f6192db8000", "/memfd:OTEL_CTX (deleted)"), {0x7f6192db8000}},
      {Line("1000", "[anon:OTEL_CTX]"), {0x1000}},
      {Line("1000", "[anon_shmem:OTEL_CTX]"), {0x1000}},
      {Line("1000", "/memfd:OTEL_CTX_more"), {0x1000}},
      {Line("1000", "/memfd:other") + Line("2000", "[anon:OTEL_CTX]") + Line("3000", "[heap]") +
           Line("4000", "/memfd:OTEL_CTX (deleted)"),
       {0x2000, 0x4000}},
      // Names that only contain it.
      {Line("1000", "/tmp/memfd:OTEL_CTX"), {}},
      {Line("1000", "[anon:MY_OTEL_CTX]"), {}},
      {Line("1000", "/memfd:OTEL_CT"), {}},
      {Line("1000", "[anon:OTEL_CTX"), {}},
      // No lines of a kernel.
      {"/memfd:OTEL_CTX\n", {}},
      {"zz-11 rw-p 0 0 0 /memfd:OTEL_CTX\n", {}},
      {"1000 rw-p 0 0 0 /memfd:OTEL_CTX\n", {}},
      {"1000-2000 rw-p 0 0 /memfd:OTEL_CTX\n", {}},
      {"11112222333344445-1 rw-p 0 0 0 /memfd:OTEL_CTX\n", {}},
      {"1000-2000 \n/memfd:OTEL_CTX\n", {}},
      {"OTEL_CTX\nOTEL_CTX\n\n", {}},
  };
  for (const auto& c : kCases) {
    size_t used = 0;
    EXPECT_EQ(Addresses(c.text, &used), c.addresses) << c.text;
    EXPECT_EQ(used, c.text.size());
  }
}

TEST(ContextMappings, AnUnfinishedLineWaitsForItsRest) {
  const std::string first = Line("1000", "/bin/x"), second = Line("2000", "/memfd:OTEL_CTX");
  for (size_t cut = 0; cut < second.size(); ++cut) {
    size_t used = 0;
    EXPECT_TRUE(Addresses(first + second.substr(0, cut), &used).empty()) << cut;
    EXPECT_EQ(used, first.size());
  }
}

TEST(ContextHeader, Fields) {
  const auto header = ParseContextHeader(ContextHeaderBytes(77, 0x7f0000001000, 300));
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->published_at_ns, 77u);
  EXPECT_EQ(header->payload_address, 0x7f0000001000u);
  EXPECT_EQ(header->payload_bytes, 300u);
  EXPECT_TRUE(ParseContextHeader(ContextHeaderBytes(0, 0, 0)).has_value());
}

TEST(ContextHeader, IsRefusedDamaged) {
  for (const uint32_t version : {0u, 1u, 3u, 0x02000000u})
    EXPECT_FALSE(ParseContextHeader(ContextHeaderBytes(1, 2, 3, version)).has_value()) << version;
  for (size_t at = 0; at < 12; ++at) {
    std::vector<uint8_t> bytes = ContextHeaderBytes(1, 2, 3);
    bytes[at] ^= 0x20;
    EXPECT_FALSE(ParseContextHeader(bytes).has_value()) << at;
  }
  const std::vector<uint8_t> bytes = ContextHeaderBytes(1, 2, 3);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(ParseContextHeader({bytes.data(), size}).has_value()) << size;
}

TEST(ContextPayload, ValuesOfEachKind) {
  const auto context = ParseContextPayload(
      Context(Attribute("service.name", "shop") + Attribute("service.version", "1.2") +
              Field(1, KeyValue("a.truth", NumberValue(2, 1))) +
              Field(1, KeyValue("a.lie", NumberValue(2, 0))) +
              Field(1, KeyValue("a.number", NumberValue(3, static_cast<uint64_t>(-5)))) +
              Field(1, KeyValue("a.decimal", DecimalValue(0.25)))) +
      Field(2, KeyValue("threadlocal.attribute_key_map", TextValue("not of the resource"))));
  ASSERT_TRUE(context.ok()) << context.status();
  EXPECT_EQ(context->service_name, "shop");
  EXPECT_EQ(context->attributes, (Attributes{{"service.version", "1.2"},
                                             {"a.truth", true},
                                             {"a.lie", false},
                                             {"a.number", int64_t{-5}},
                                             {"a.decimal", 0.25}}));
}

TEST(ContextPayload, WhatIsLeftOut) {
  const std::string list = Field(5, Field(1, TextValue("x")));
  const auto context = ParseContextPayload(Context(
      Attribute("", "no key") + Attribute("empty", "") + Field(1, Field(1, "no value")) +
      Field(1, KeyValue("a.list", list)) + Field(1, KeyValue("some.bytes", Field(7, "x"))) +
      Attribute(std::string(kMaxContextKeyBytes + 1, 'k'), "long") + Attribute("twice", "first") +
      Attribute("twice", "second") + Attribute("process.command_line", "--password=1") +
      Attribute("process.command_args", "x") + Attribute("process.environment_variable.KEY", "x") +
      Field(1, KeyValue("service.name", NumberValue(3, 7))) + Attribute("service.name", "first") +
      Attribute("service.name", "second") + NumberValue(2, 9) + Field(3, "an entity")));
  ASSERT_TRUE(context.ok()) << context.status();
  EXPECT_EQ(context->service_name, "first");
  EXPECT_EQ(context->attributes, (Attributes{{"twice", "first"}}));
}

TEST(ContextPayload, IsBounded) {
  std::string many;
  for (int i = 0; i < 500; ++i) many += Attribute(fmt::format("key{}", i), "x");
  const auto context = ParseContextPayload(Context(many));
  ASSERT_TRUE(context.ok());
  EXPECT_EQ(context->attributes.size(), kMaxContextAttributes);
  const auto long_text = ParseContextPayload(Context(Attribute("k", std::string(16'000, 'v'))));
  ASSERT_TRUE(long_text.ok());
  EXPECT_LE(std::get<std::string>(long_text->attributes[0].second).size(), kMaxTextBytes);
}

TEST(ContextPayload, BecomesValidText) {
  const auto context = ParseContextPayload(
      Context(Attribute("service.name", "a\xff") + Attribute("k\xc3", "\xe2\x82")));
  ASSERT_TRUE(context.ok());
  EXPECT_EQ(context->service_name, "a\xEF\xBF\xBD");
  EXPECT_EQ(context->attributes, (Attributes{{"k\xEF\xBF\xBD", "\xEF\xBF\xBD"}}));
}

// A cut is seen unless it lies between two fields of the outermost message.
TEST(ContextPayload, IsRefusedCut) {
  const std::string resource = Context(Attribute("service.name", "shop") + Attribute("k", "v")),
                    whole = resource + Field(2, KeyValue("more", TextValue("x")));
  for (size_t size = 0; size <= whole.size(); ++size) {
    const bool between = size == 0 || size == resource.size() || size == whole.size();
    EXPECT_EQ(ParseContextPayload(whole.substr(0, size)).ok(), between) << size;
  }
  for (const std::string& damaged :
       {Field(1, "\xff"), Context(Field(1, "\x0a")), Context(Field(1, Field(2, "\x0b"))),
        Context(Field(1, KeyValue("k", "\x0a\x05x"))), std::string(200, '\x0a'),
        std::string(200, '\xff')})
    EXPECT_EQ(ParseContextPayload(damaged).status().code(), absl::StatusCode::kDataLoss) << damaged;
}

// Field 2 of the payload: the schema of threads, as three writers of 2026 have it.
std::string ThreadKeys(const std::vector<std::string>& keys) {
  std::string list;
  for (const std::string& key : keys) list += Field(1, TextValue(key));
  return KeyValue("threadlocal.attribute_key_map", Field(5, list));
}

TEST(ContextPayload, SaysHowThreadsSayWhatTheyWorkOn) {
  const std::string schema = KeyValue("threadlocal.schema_version", TextValue("tlsdesc_v1_dev"));
  const std::string keys = ThreadKeys({"datadog.local_root_span_id", "http.route"});
  const std::string resource = Context(Attribute("service.name", "shop"));
  const auto expect = [&](const std::string& payload) {
    const auto context = ParseContextPayload(payload);
    ASSERT_TRUE(context.ok());
    EXPECT_EQ(context->service_name, "shop");
    EXPECT_TRUE(context->attributes.empty());  // Keys of threads are not exported.
    EXPECT_EQ(context->threads.version, "tlsdesc_v1_dev");
    EXPECT_EQ(context->threads.keys,
              (std::vector<std::string>{"datadog.local_root_span_id", "http.route"}));
  };
  expect(resource + Field(2, schema) + Field(2, keys));
  // Some writers put them into the resource.
  expect(Context(Attribute("service.name", "shop") + Field(1, schema) + Field(1, keys)));
}

TEST(ContextPayload, OtherThingsBesideTheResourceAreNotExported) {
  const auto context = ParseContextPayload(Field(2, KeyValue("secret", TextValue("value"))));
  ASSERT_TRUE(context.ok());
  EXPECT_TRUE(context->attributes.empty());
  EXPECT_EQ(context->threads, ThreadSchema());
}

TEST(ContextPayload, KeysOfThreadsKeepTheirPlaces) {
  const std::string long_key(kMaxContextKeyBytes + 1, 'k');
  const auto keys = [](const std::string& message) {
    const auto context = ParseContextPayload(Field(2, message));
    return context.ok() ? context->threads.keys : std::vector<std::string>{"damaged"};
  };
  EXPECT_EQ(keys(ThreadKeys({"a", "\xff", long_key, "b"})),
            (std::vector<std::string>{"a", "", "", "b"}));
  EXPECT_EQ(keys(ThreadKeys(std::vector<std::string>(300, "k"))).size(), kMaxThreadKeys);
  EXPECT_TRUE(keys(KeyValue("threadlocal.attribute_key_map", TextValue("no list"))).empty());
  EXPECT_EQ(keys(KeyValue("threadlocal.attribute_key_map", Field(5, "\x0a\x7f"))),
            std::vector<std::string>{"damaged"});
  EXPECT_EQ(keys(KeyValue("threadlocal.attribute_key_map",
                          Field(5, Field(1, NumberValue(3, 7)) + Field(1, TextValue("b"))))),
            (std::vector<std::string>{"", "b"}));
}

TEST(ContextMappings, NameLibrariesThatPublishNothing) {
  EXPECT_TRUE(NamesContextLibrary(Line("1000", "/opt/x/libcustomlabels.so")));
  EXPECT_TRUE(NamesContextLibrary(Line("1000", "/tmp/elastic-jvmti-linux-x64.so")));
  EXPECT_FALSE(NamesContextLibrary(Line("1000", "/usr/lib/libc.so.6")));
}

}  // namespace
}  // namespace stackray::test
