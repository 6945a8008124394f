// Names that were chosen to break a format, through every format.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "reporter/formats/folded.h"
#include "reporter/formats/html.h"
#include "reporter/formats/otlp_json.h"
#include "reporter/formats/page_data.h"
#include "reporter/formats/pprof.h"
#include "reporter/formats/speedscope.h"
#include "reporter/formats/text.h"
#include "reporter/wire/reader.h"
#include "reporter/wire/writer.h"
#include "tests/reporter/formats/test_batches.h"

namespace stackray {
namespace {

using Json = nlohmann::json;

struct HostileName {
  const char* title;
  std::string name;
  std::string text;    // As a format without rules of its own shows it.
  std::string folded;  // As a folded line shows it.
  std::string pprof;   // As pprof has it, whose readers print to terminals; empty: as `text`.
};

std::vector<HostileName> Names() {
  const std::string mebibyte(1 << 20, 'x');
  const std::string bad = "\xEF\xBF\xBD";
  return {
      {"Script", "<script>alert(1)</script>", "<script>alert(1)</script>",
       "<script>alert(1)</script>"},
      {"InvalidUtf8", "a\xFF\xC0z\xE2\x82", "a" + bad + bad + "z" + bad,
       "a" + bad + bad + "z" + bad},
      {"Mebibyte", mebibyte, mebibyte, mebibyte},
      {"Separators", "a;b;c 5", "a;b;c 5", "a:b:c 5"},
      {"Newlines", "a\nb\r\nc 7\n", "a\nb\r\nc 7\n", "a b  c 7 ",
       "a" + bad + "b" + bad + bad + "c 7" + bad},
      {"Quotes", "\"\\\"},{\"", "\"\\\"},{\"", "\"\\\"},{\""},
      {"Zero", std::string("a\0b", 3), std::string("a\0b", 3), "a" + bad + "b", "a" + bad + "b"},
      {"Terminal", "\x1b[2J\x07", "\x1b[2J\x07", bad + "[2J" + bad, bad + "[2J" + bad},
      {"Comment", "<!--stackray-data-->", "<!--stackray-data-->", "<!--stackray-data-->"},
  };
}

std::string PprofText(const HostileName& name) {
  return name.pprof.empty() ? name.text : name.pprof;
}

class Hostile : public testing::TestWithParam<HostileName> {
 protected:
  // The name wherever a program chooses it: function, command, thread, file, executable.
  static const ProfileView& View() {
    static ProfileView* view = nullptr;
    delete view;
    view = new ProfileView();
    TestBatch test;
    const std::string& name = GetParam().name;
    test.Sample(test.Process(42, name, "/bin/" + name),
                {test.Native(name, 0x10, "/lib/" + name), test.Nameless("/lib/" + name, 0x20)}, 3,
                43, name);
    AddTo(view, test.batch);
    return *view;
  }
};

TEST_P(Hostile, Folded) {
  const std::string& name = GetParam().folded;
  const std::string file = name.substr(name.rfind('/') + 1);
  EXPECT_EQ(FoldedText(View()), name + ";" + name + ";[" + file + "+0x20] 3\n");
}

TEST_P(Hostile, PageData) {
  const Json page = Json::parse(PageData(View(), {.title = GetParam().name}));
  const std::string& text = GetParam().text;
  const auto string = [&page](const Json& index) { return page["strings"][index.get<size_t>()]; };
  EXPECT_EQ(page["title"], text);
  EXPECT_EQ(string(page["frames"]["name"][0]), text);
  EXPECT_EQ(string(page["processes"]["command"][0]), text);
  EXPECT_EQ(string(page["threads"]["name"][0]), text);
}

TEST_P(Hostile, Html) {
  const auto html = HtmlPage("<title>t</title><!--stackray-data-->",
                             PageData(View(), {.title = GetParam().name}), GetParam().name);
  ASSERT_TRUE(html.ok());
  const std::string title = "<title>" + EscapeHtml(GetParam().name) + "</title>";
  ASSERT_TRUE(html->starts_with(title));
  EXPECT_TRUE(IsValidUtf8(*html));
  // Behind the title there is one element whose content is base64, and nothing else.
  const std::string rest = html->substr(title.size());
  EXPECT_EQ(std::count(rest.begin(), rest.end(), '<'), 2);
}

TEST_P(Hostile, Speedscope) {
  const Json json = Json::parse(SpeedscopeJson(View(), 0, GetParam().name));
  const std::string& text = GetParam().text;
  EXPECT_EQ(json["name"], text);
  EXPECT_EQ(json["shared"]["frames"][0]["name"], text);
  EXPECT_EQ(json["profiles"][0]["name"], text + " (pid 42) " + text + " (tid 43)");
}

TEST_P(Hostile, Pprof) {
  std::vector<std::string> strings;
  const std::string bytes = PprofBytes(View());
  WireReader reader(bytes);
  WireField field;
  while (!reader.done()) {
    ASSERT_TRUE(reader.Next(&field));
    if (field.number == 6) strings.emplace_back(field.bytes);
  }
  EXPECT_EQ(std::count(strings.begin(), strings.end(), PprofText(GetParam())), 1);
  EXPECT_EQ(std::count(strings.begin(), strings.end(), "/lib/" + PprofText(GetParam())), 1);
  for (const std::string& string : strings) EXPECT_TRUE(IsValidUtf8(string));
}

TEST_P(Hostile, PprofIsReadByGo) {
  if (!RunTool("go tool pprof -h 2>&1; true").value_or("").starts_with("usage")) {
    GTEST_SKIP() << "`go tool pprof` is not installed";
  }
  const std::string path = WriteTestFile(GetParam().title, *PprofGzip(View()));
  const auto raw = RunTool("go tool pprof -symbolize=none -raw " + path + " 2>&1");
  ASSERT_TRUE(raw.has_value());
  EXPECT_NE(raw->find("0x10 M=1 " + PprofText(GetParam())), std::string::npos);
}

TEST_P(Hostile, OtlpJson) {
  std::string dictionary, request;
  wire::AppendBytes(5, "", &dictionary);
  wire::AppendBytes(5, GetParam().name, &dictionary);
  wire::AppendBytes(2, dictionary, &request);
  const auto json = OtlpJson(request);
  ASSERT_TRUE(json.ok());
  EXPECT_EQ(std::count(json->begin(), json->end(), '\n'), 0);  // One document a line.
  EXPECT_EQ(Json::parse(*json)["dictionary"]["stringTable"][1], GetParam().text);
}

INSTANTIATE_TEST_SUITE_P(Names, Hostile, testing::ValuesIn(Names()),
                         [](const auto& test) { return test.param.title; });

}  // namespace
}  // namespace stackray
