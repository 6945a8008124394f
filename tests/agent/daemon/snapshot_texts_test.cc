// Equal numbers in /metrics and in the status, and a metrics text that obeys Prometheus's rules.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>
#include <set>
#include <sstream>

#include "agent/daemon/agent_snapshot.h"
#include "agent/daemon/metrics_text.h"
#include "agent/daemon/status_json.h"

namespace stackray {
namespace {

using Json = nlohmann::json;

// One sink's life in random steps: what it counts always adds up, as a receiver's queue does.
class RandomAgent {
 public:
  explicit RandomAgent(uint32_t seed) : random_(seed) {}

  AgentSnapshot Snapshot(uint64_t sequence) {
    AgentSnapshot s;
    s.sequence = sequence;
    s.host = "h";
    SessionCounts counts;
    const SessionMark began{
        .ring_full = Any(), .scratch_busy = Any(), .damaged_records = Any(), .sealed = Any()};
    counts.kernel.value[COUNT_RING_FULL] = began.ring_full + Any();
    counts.kernel.value[COUNT_SCRATCH_BUSY] = began.scratch_busy + Any();
    counts.loop.damaged_records = began.damaged_records + Any();
    counts.in_flight = Any();
    ItemCount added;  // To the receiver, since it is there.
    added.items = Any();
    counts.loop.sealed_samples = began.sealed + added.items;
    counts.produced = counts.lost() + counts.loop.sealed_samples + counts.in_flight;
    counts.frames.lines = {.cached = Any(), .answered = Any(), .deferred = Any()};
    s.session.counts = counts;
    s.session.programs = {{"on_cpu_clock", Any(), Any(), 1}};
    for (const char* name : {"one", "tw\"o\n"}) {
      const DeliveryCounts delivery = Delivery(added);
      s.takers.push_back(ReceiverTaker(name, counts, {began, {}}, delivery));
      s.receivers.push_back({name, "grpc://c:4317", delivery});
    }
    s.history = HistoryStatistics{};
    s.history->on_disk = true;
    s.history->bytes = Any();
    s.history->appended_samples = added.items;
    s.takers.push_back(HistoryTaker(counts, {began, {}}, *s.history));
    s.cpu_seconds = static_cast<double>(Any()) / 8;
    AddOwners(&s);
    return s;
  }

 private:
  uint64_t Any() { return random_() % 1'000'000; }

  DeliveryCounts Delivery(const ItemCount& added) {
    DeliveryCounts counts;
    counts.recovered = {.items = Any(), .markers = 0};
    counts.recovered.markers = counts.recovered.items / 7;
    counts.produced = added;
    counts.produced += counts.recovered;
    ItemCount rest = counts.produced;
    const auto take = [&](ItemCount* part) {
      *part = {.items = rest.items / 3, .markers = rest.markers / 3};
      rest -= *part;
    };
    take(&counts.delivered);
    for (ItemCount& lost : counts.lost) take(&lost);
    counts.in_flight = rest;
    counts.queued_bytes = Any();
    counts.spooled_bytes = Any();
    counts.failing_with = random_() % 2 == 0 ? "" : "connection refused";
    return counts;
  }

  std::mt19937 random_;
};

// "NAME{LABELS}" to value.
std::map<std::string, double> Rows(const std::string& metrics) {
  std::map<std::string, double> rows;
  std::istringstream lines(metrics);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    const size_t space = line.rfind(' ');
    EXPECT_TRUE(rows.emplace(line.substr(0, space), std::stod(line.substr(space + 1))).second)
        << "twice: " << line;
  }
  return rows;
}

std::string Escaped(std::string text) {
  text = std::regex_replace(text, std::regex("\n"), "\\n");
  return std::regex_replace(text, std::regex("\""), "\\\"");
}

TEST(SnapshotTexts, StatusAndMetricsAgreeAtRandomMoments) {
  RandomAgent agent(7);
  for (uint64_t moment = 1; moment <= 50; ++moment) {
    const AgentSnapshot snapshot = agent.Snapshot(moment);
    const std::map<std::string, double> rows = Rows(MetricsText(snapshot));
    const Json status = Json::parse(StatusText(StatusJson(snapshot)));
    EXPECT_EQ(rows.at("stackray_snapshot_sequence"), moment);
    EXPECT_EQ(status["sequence"], moment);
    EXPECT_EQ(rows.at("stackray_samples_produced_total"), status["sampling"]["produced"]);
    EXPECT_EQ(rows.at("stackray_cpu_seconds_total"), status["costs"]["cpu_seconds"]);
    ASSERT_EQ(status["sampling"]["source_lines"].size(), 3u);
    for (const auto& [from, frames] : status["sampling"]["source_lines"].items())
      EXPECT_EQ(rows.at(fmt::format("stackray_source_lines_total{{from=\"{}\"}}", from)), frames);
    ASSERT_EQ(status["receivers"].size(), 3u);
    for (const Json& taker : status["receivers"]) {
      const std::string label =
          fmt::format("receiver=\"{}\"", Escaped(taker["name"].get<std::string>()));
      const auto row = [&](const char* name) {
        return rows.at(fmt::format("{}{{{}}}", name, label));
      };
      EXPECT_EQ(row("stackray_samples_due_total"), taker["due"]);
      EXPECT_EQ(row("stackray_samples_delivered_total"), taker["delivered"]);
      EXPECT_EQ(row("stackray_samples_in_flight"), taker["in_flight"]);
      uint64_t lost = 0;
      for (const auto& [reason, samples] : taker["lost"].items()) {
        EXPECT_EQ(
            rows.at(fmt::format("stackray_samples_lost_total{{{},reason=\"{}\"}}", label, reason)),
            samples);
        lost += samples.get<uint64_t>();
      }
      EXPECT_EQ(lost, taker["lost_in_all"]);
      // The sum of the contract, from the published numbers alone.
      EXPECT_EQ(taker["due"].get<uint64_t>(),
                taker["delivered"].get<uint64_t>() + lost + taker["in_flight"].get<uint64_t>());
    }
    for (const auto& [owner, bytes] : status["costs"]["memory_bytes"].items())
      EXPECT_EQ(rows.at(fmt::format("stackray_memory_bytes{{owner=\"{}\"}}", owner)), bytes);
    for (const auto& [owner, bytes] : status["costs"]["disk_bytes"].items())
      EXPECT_EQ(rows.at(fmt::format("stackray_disk_bytes{{owner=\"{}\"}}", owner)), bytes);
  }
}

// What `promtool check metrics` asks for, without promtool (tests/e2e/agent/status_test.py has
// that).
TEST(SnapshotTexts, MetricsObeyPrometheusRules) {
  AgentSnapshot snapshot = RandomAgent(3).Snapshot(1);
  snapshot.unclean_stop = UncleanStop{.gap_seconds = 12.5};
  std::istringstream lines(MetricsText(snapshot));
  std::set<std::string> helped;
  std::map<std::string, std::string> types;
  std::smatch match;
  const std::regex help("# HELP (stackray_[a-z_]+) (.+[.])"), type("# TYPE (\\S+) (counter|gauge)");
  const std::regex row(
      "(stackray_[a-z_]+)(\\{[a-z_]+=\"(?:[^\"\\\\]|\\\\[n\"\\\\])*\"(?:,[a-z_]+=\"[^\"]*\")*\\})? "
      "[-+.e0-9]+");
  int rows = 0;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, help)) {
      EXPECT_TRUE(helped.insert(match[1]).second) << line;
    } else if (std::regex_match(line, match, type)) {
      EXPECT_TRUE(types.emplace(match[1], match[2]).second) << line;
    } else {
      ASSERT_TRUE(std::regex_match(line, match, row)) << line;
      const std::string name = match[1];
      ASSERT_TRUE(types.contains(name)) << line;
      EXPECT_EQ(types[name] == "counter", name.ends_with("_total")) << line;
      ++rows;
    }
  }
  EXPECT_EQ(helped.size(), types.size());
  EXPECT_GT(rows, 60);
  EXPECT_TRUE(types.contains("stackray_unclean_stop_gap_seconds"));
}

TEST(SnapshotTexts, AnEmptySnapshotIsValidToo) {
  const AgentSnapshot nothing;
  EXPECT_TRUE(Json::parse(StatusText(StatusJson(nothing)))["unclean_stop_before"].is_null());
  EXPECT_THAT(MetricsText(nothing), testing::Not(testing::HasSubstr("unclean_stop")));
}

TEST(SnapshotTexts, HostileNamesStayText) {
  AgentSnapshot snapshot;
  snapshot.host = "\xff<script>";
  snapshot.settings = std::make_shared<const std::vector<EffectiveSetting>>(
      std::vector<EffectiveSetting>{{"command", "a\"b\xfe", "--command"}});
  const Json status = Json::parse(StatusText(StatusJson(snapshot)));
  EXPECT_EQ(status["settings"][0]["key"], "command");
}

// Two sessions after one another: what the first has counted is not forgotten.
TEST(SnapshotTexts, CountsGoOnOverSessions) {
  SessionCounts first, second;
  first.produced = 10;
  first.loop.sealed_samples = 9;
  first.kernel.value[COUNT_RING_FULL] = 1;
  second.produced = 5;
  second.in_flight = 2;
  second.loop.sealed_samples = 3;
  SessionTotals totals;
  totals.AddEnded(first, {{"a", 100, 2, 7}});
  const SessionTotals sum = totals.With(second, {{"a", 50, 1, 8}, {"b", 1, 1, 1}});
  EXPECT_EQ(sum.counts.produced, 15u);
  EXPECT_EQ(sum.counts.in_flight, 2u);
  EXPECT_EQ(MarkOf(sum.counts).settled(), 13u);
  ASSERT_EQ(sum.programs.size(), 2u);
  EXPECT_EQ(sum.programs[0].run_time_ns, 150u);
  EXPECT_EQ(sum.programs[0].runs, 3u);
}

TEST(SnapshotTexts, OwnTracesAddUpAndAreAbsentWhereTheyAreOff) {
  AgentSnapshot snapshot;
  EXPECT_EQ(MetricsText(snapshot).find("stackray_traces"), std::string::npos);
  EXPECT_TRUE(StatusJson(snapshot)["traces"].is_null());
  TracesSnapshot& traces = snapshot.traces.emplace();
  traces.endpoint = "grpc://c:4317";
  traces.spans = {.made = 100, .dropped = 7, .taken = 90, .waiting = 3};
  traces.counts.recovered.items = 20;
  traces.counts.delivered.items = 60;
  traces.counts.in_flight.items = 45;
  traces.counts.lost[static_cast<size_t>(LossReason::kRejected)].items = 5;
  const std::map<std::string, double> rows = Rows(MetricsText(snapshot));
  double lost = 0;
  for (const auto& [name, value] : rows)
    if (name.starts_with("stackray_traces_spans_lost_total{")) lost += value;
  EXPECT_EQ(lost, 12);
  EXPECT_EQ(rows.at("stackray_traces_spans_total"), 120);
  EXPECT_EQ(rows.at("stackray_traces_spans_total"),
            rows.at("stackray_traces_spans_delivered_total") + lost +
                rows.at("stackray_traces_spans_in_flight"));
  const Json status = StatusJson(snapshot)["traces"];
  EXPECT_EQ(status["spans"], 120);
  EXPECT_EQ(status["in_flight"], 48);
  EXPECT_EQ(status["lost"]["buffer full"], 7);
}

}  // namespace
}  // namespace stackray
