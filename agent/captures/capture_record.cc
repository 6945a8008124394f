#include "agent/captures/capture_record.h"

#include <algorithm>
#include <utility>

#include "agent/captures/capture_json.h"
#include "agent/settings/target_text.h"

namespace stackray {
namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr size_t kMostReasons = 256;
constexpr int kMostDepth = 16;

void ReadTime(JsonFields& fields, std::string_view key, int64_t* value) {
  fields.Read(key, 0, INT64_MAX, value);
}

void ReadCount(JsonFields& fields, std::string_view key, uint64_t* value) {
  int64_t count = 0;
  fields.Read(key, 0, INT64_MAX, &count);
  *value = static_cast<uint64_t>(count);
}

void ReadGaps(const Json& list, JsonFields& fields, std::vector<CaptureGap>* gaps) {
  for (const Json& element : list) {
    JsonFields parts(element, "a capture's gap");
    CaptureGap& gap = gaps->emplace_back();
    ReadTime(parts, "from", &gap.from_unix_ns);
    ReadTime(parts, "to", &gap.to_unix_ns);
    fields.Take(parts.Finish());
  }
}

void ReadLost(const Json& json, JsonFields& fields, std::map<std::string, uint64_t>* lost) {
  if (!json.is_object() || json.size() > kMostReasons)
    return fields.Fail("has \"lost\": numbers by reason");
  for (const auto& entry : json.items()) {
    if (!entry.value().is_number_integer() || entry.value() < 0)
      return fields.Fail("has \"lost\": numbers by reason");
    (*lost)[entry.key()] = entry.value().get<uint64_t>();
  }
}

}  // namespace

OrderedJson ToJson(const CaptureRecord& record) {
  OrderedJson gaps = OrderedJson::array(), lost = OrderedJson::object();
  for (const CaptureGap& gap : record.gaps)
    gaps.push_back({{"from", gap.from_unix_ns}, {"to", gap.to_unix_ns}});
  for (const auto& [reason, samples] : record.lost) lost[reason] = samples;
  OrderedJson json = {{"capture", ToJson(record.spec)},
                      {"state", record.is_running() ? "running" : "finished"},
                      {"reason", record.reason},
                      {"started_unix_ns", record.started_unix_ns},
                      {"ends_unix_ns", record.ends_unix_ns},
                      {"updated_unix_ns", record.updated_unix_ns},
                      {"ended_unix_ns", record.ended_unix_ns},
                      {"gaps", gaps},
                      {"samples", record.samples},
                      {"lost", lost},
                      {"batches", record.batches},
                      {"bytes", record.bytes}};
  if (!record.flag.empty()) json["flag"] = record.flag;
  if (std::ranges::any_of(record.spec.targets, IsClaimed)) json["target_is_claimed"] = true;
  if (record.span.valid()) json["traceparent"] = TraceparentOf(record.span);
  return json;
}

absl::StatusOr<CaptureRecord> CaptureRecordFromJson(const Json& json) {
  JsonFields fields(json, "a capture's record");
  CaptureRecord record;
  if (const Json* capture = fields.Find("capture")) {
    absl::StatusOr<CaptureSpec> spec = CaptureFromJson(*capture);
    if (!spec.ok()) return spec.status();
    record.spec = *std::move(spec);
  }
  fields.Take(CheckCaptureName(record.spec.name));
  std::string state;
  fields.Read("state", &state);
  fields.Read("reason", &record.reason);
  if (state != (record.is_running() ? "running" : "finished"))
    fields.Fail("has \"state\": running, or finished and a reason");
  ReadTime(fields, "started_unix_ns", &record.started_unix_ns);
  ReadTime(fields, "ends_unix_ns", &record.ends_unix_ns);
  ReadTime(fields, "updated_unix_ns", &record.updated_unix_ns);
  ReadTime(fields, "ended_unix_ns", &record.ended_unix_ns);
  if (const Json* gaps = fields.FindList("gaps", kMostCaptureGaps))
    ReadGaps(*gaps, fields, &record.gaps);
  ReadCount(fields, "samples", &record.samples);
  if (const Json* lost = fields.Find("lost")) ReadLost(*lost, fields, &record.lost);
  ReadCount(fields, "batches", &record.batches);
  ReadCount(fields, "bytes", &record.bytes);
  fields.Read("flag", &record.flag);
  bool is_claimed = false;  // The targets say it.
  fields.Read("target_is_claimed", &is_claimed);
  std::string traceparent;  // One that is none costs the capture no more than its span.
  fields.Read("traceparent", &traceparent);
  record.span = ParseTraceparent(traceparent).value_or(SpanIds());
  if (absl::Status status = fields.Finish(); !status.ok()) return status;
  return record;
}

absl::StatusOr<CaptureRecord> ParseCaptureRecord(std::string_view text) {
  bool too_deep = false;
  const auto look = [&](int depth, Json::parse_event_t, Json&) {
    too_deep |= depth > kMostDepth;
    return !too_deep;
  };
  const Json json = Json::parse(text, look, /*allow_exceptions=*/false);
  if (too_deep || json.is_discarded()) return absl::InvalidArgumentError("it is no JSON");
  return CaptureRecordFromJson(json);
}

}  // namespace stackray
