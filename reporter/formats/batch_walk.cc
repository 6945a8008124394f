#include "reporter/formats/batch_walk.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "profile/sample_types.h"
#include "reporter/attribute_names.h"
#include "reporter/formats/resource_keys.h"
#include "reporter/wire/reader.h"

namespace stackray {
namespace {

constexpr size_t kPairBytes = 9;  // The least that a timestamp and a value take.

}  // namespace

BatchWalk::Value BatchWalk::ReadValue(std::string_view any_value) const {
  Value value;
  EachField(any_value, [&](const WireField& field) {
    if (IsBytes(field, 1) || IsBytes(field, 7)) value = {.text = field.bytes};
    if (IsNumber(field, 3))
      value = {.number = static_cast<int64_t>(field.value), .is_number = true};
    if (IsNumber(field, 8)) value = {.text = At(kStrings, AsIndex(field.value))};
    return true;
  });
  return value;
}

std::pair<std::string_view, BatchWalk::Value> BatchWalk::Attribute(uint64_t index) const {
  std::string_view key = At(kStrings, 0);
  Value value;
  EachField(At(kAttributes, AsIndex(index)), [&](const WireField& field) {
    if (IsNumber(field, 1)) key = At(kStrings, AsIndex(field.value));
    if (IsBytes(field, 2)) value = ReadValue(field.bytes);
    return true;
  });
  return {key, value};
}

void BatchWalk::ReadMapping(uint64_t index, WalkedFrame* frame) const {
  frame->mapping_path = At(kStrings, 0);
  size_t best = kBuildIdAttributes.size();
  EachField(At(kMappings, AsIndex(index)), [&](const WireField& field) {
    if (IsNumber(field, 4)) frame->mapping_path = At(kStrings, AsIndex(field.value));
    return field.number != 5 || EachNumber(field, [&](uint64_t attribute) {
             const auto [key, value] = Attribute(attribute);
             const auto found = std::ranges::find(kBuildIdAttributes, key);
             const auto rank = static_cast<size_t>(found - kBuildIdAttributes.begin());
             if (rank < best) frame->build_id = value.text;
             best = std::min(best, rank);
             return true;
           });
  });
}

WalkedLine BatchWalk::ReadLine(std::string_view line) const {
  uint64_t function = 0;
  int64_t number = 0;
  EachField(line, [&](const WireField& field) {
    if (IsNumber(field, 1)) function = AsIndex(field.value);
    if (IsNumber(field, 2)) number = static_cast<int64_t>(field.value);
    return true;
  });
  std::array<std::string_view, 4> texts;  // By field: -, name, system name, file.
  texts.fill(At(kStrings, 0));
  EachField(At(kFunctions, function), [&](const WireField& field) {
    if (field.type == WireType::kVarint && field.number < texts.size())
      texts[field.number] = At(kStrings, AsIndex(field.value));
    return true;
  });
  return {texts[1].empty() ? texts[2] : texts[1], texts[2], texts[3], number};
}

void BatchWalk::ReadFrame(uint32_t frame, WalkedFrame* out) const {
  out->type = out->mapping_path = out->build_id = {};
  out->address = 0;
  out->function_start.reset();
  out->lines.clear();
  std::string_view marker;
  EachField(At(kLocations, frame), [&](const WireField& field) {
    if (IsNumber(field, 1) && field.value != 0) ReadMapping(field.value, out);
    if (IsNumber(field, 2)) out->address = field.value;
    if (IsBytes(field, 3)) out->lines.push_back(ReadLine(field.bytes));
    if (field.number != 4) return true;
    return EachNumber(field, [&](uint64_t index) {
      const auto [key, value] = Attribute(index);
      if (key == kFrameTypeAttribute) out->type = value.text;
      if (key == kMarkerAttribute) marker = value.text;
      if (key == kFunctionStartAttribute && value.is_number)
        out->function_start = static_cast<uint64_t>(value.number);
      return true;
    });
  });
  out->marker = ReadMarker(marker, out->type,
                           out->lines.empty() ? std::string_view() : out->lines[0].function);
  out->marker_reason = MarkerReasonOf(marker);
}

void BatchWalk::ReadStack(uint32_t stack, std::vector<uint32_t>* frames) const {
  frames->clear();
  EachField(At(kStacks, stack), [&](const WireField& field) {
    return field.number != 1 || EachNumber(field, [&](uint64_t index) {
             frames->push_back(static_cast<uint32_t>(AsIndex(index)));
             return true;
           });
  });
}

WalkedResource BatchWalk::ReadResource(std::string_view resource_profiles) const {
  WalkedResource out;
  std::string_view executable_name;
  const auto take = [&](std::string_view attribute) {
    std::string_view key;
    Value value;
    EachField(attribute, [&](const WireField& part) {
      if (IsBytes(part, 1) && key.empty()) key = part.bytes;
      if (IsNumber(part, 3) && part.value != 0) key = At(kStrings, AsIndex(part.value));
      if (IsBytes(part, 2)) value = ReadValue(part.bytes);
      return true;
    });
    if (key == kProcessPid) {
      out.pid = value.number;
      std::from_chars(value.text.data(), value.text.data() + value.text.size(), out.pid);
    }
    if (key == kProcessCommand) out.command = value.text;
    if (key == kProcessExecutablePath) out.executable = value.text;
    if (key == kProcessExecutableName) executable_name = value.text;
    if (key == kContainerId) out.container = value.text;
    if (key == kServiceName) out.service = value.text;
    if (key == kCgroup) out.cgroup = value.text;
    if (key == kUserName) out.user = value.text;
    if (key == kProcessCreationTime) out.creation_time = value.text;
    if (key == kHostName) out.host_name = value.text;
  };
  EachField(resource_profiles, [&](const WireField& resource) {
    return !IsBytes(resource, 1) || EachField(resource.bytes, [&](const WireField& attribute) {
      if (IsBytes(attribute, 1)) take(attribute.bytes);
      return true;
    });
  });
  if (out.executable.empty()) out.executable = executable_name;
  return out;
}

// ValueType: 1 type, 2 unit. Profile: 1 sample type, 5 period type, 6 period.
WalkedProfile BatchWalk::ReadProfile(std::string_view profile) const {
  WalkedProfile out;
  out.type = out.unit = out.period_type = out.period_unit = At(kStrings, 0);
  EachField(profile, [&](const WireField& field) {
    if (IsNumber(field, 6)) out.period = static_cast<int64_t>(field.value);
    if (!IsBytes(field, 1) && !IsBytes(field, 5)) return true;
    const bool of_period = field.number == 5;
    return EachField(field.bytes, [&](const WireField& part) {
      if (IsNumber(part, 1))
        (of_period ? out.period_type : out.type) = At(kStrings, AsIndex(part.value));
      if (IsNumber(part, 2))
        (of_period ? out.period_unit : out.unit) = At(kStrings, AsIndex(part.value));
      return true;
    });
  });
  const SampleType* const row = FindSampleType(out.type, out.unit);
  out.weighted = row != nullptr ? row->weighted : out.unit != kSampleTypes[0].unit;
  return out;
}

// Link: 1 trace id, 2 span id.
void BatchWalk::ReadLink(uint64_t index, WalkedSample* sample) const {
  EachField(At(kLinks, AsIndex(index)), [&](const WireField& field) {
    if (IsBytes(field, 1)) sample->trace_id = field.bytes;
    if (IsBytes(field, 2)) sample->span_id = field.bytes;
    return true;
  });
}

void BatchWalk::ReadAttribute(uint64_t index, WalkedSample* sample) const {
  const auto [key, value] = Attribute(index);
  if (key == kThreadIdAttribute) {
    sample->tid = value.number;
  } else if (key == kThreadNameAttribute) {
    sample->thread_name = value.text;
  } else if (key == kWaitAttribute) {
    sample->wait = value.text;
  } else if (key == kCpuAttribute) {
    sample->cpu = value.number;
  } else if (!key.empty() && sample->attributes.size() < WalkedSample::kMostAttributes) {
    sample->attributes.push_back({key, value.text, value.number});
  }
}

// Sample: 1 stack, 2 attributes, 3 link, 4 values, 5 timestamps.
void BatchWalk::ReadSample(std::string_view bytes, const WalkedProfile& profile,
                           WalkedSample* sample) const {
  sample->stack = 0;
  sample->weighted = profile.weighted;
  sample->total = sample->tid = 0;
  sample->cpu = -1;
  sample->thread_name = sample->wait = sample->trace_id = sample->span_id = {};
  sample->attributes.clear();
  sample->values.clear();
  sample->timestamps_unix_ns.clear();
  const size_t most_pairs = bytes.size() / kPairBytes + 1;
  size_t values = 0;
  EachField(bytes, [&](const WireField& field) {
    if (IsNumber(field, 1)) sample->stack = static_cast<uint32_t>(AsIndex(field.value));
    if (IsNumber(field, 3)) ReadLink(field.value, sample);
    if (field.number == 2)
      return EachNumber(field, [&](uint64_t index) {
        ReadAttribute(index, sample);
        return true;
      });
    if (field.number == 4)
      return EachNumber(field, [&](uint64_t value) {
        sample->total = AddSigned(sample->total, static_cast<int64_t>(value));
        if (++values <= most_pairs) sample->values.push_back(static_cast<int64_t>(value));
        return true;
      });
    if (field.number == 5)
      return EachFixed64(field, [&](uint64_t time) {
        sample->timestamps_unix_ns.push_back(ClampToSigned(time));
        return true;
      });
    return true;
  });
  const auto times = static_cast<int64_t>(sample->timestamps_unix_ns.size());
  if (values != sample->timestamps_unix_ns.size()) sample->values.clear();
  if (values == 0) sample->total = times;
  sample->events = !profile.weighted ? sample->total : std::max<int64_t>(times, 1);
}

void BatchWalk::Visit(absl::FunctionRef<void(const WalkedResource&)> resource,
                      absl::FunctionRef<void(const WalkedProfile&)> profile,
                      absl::FunctionRef<void(const WalkedSample&)> sample) const {
  WalkedSample walked;
  for (const Span span : resources_) {
    const std::string_view bytes = bytes_.substr(span.offset, span.bytes);
    resource(ReadResource(bytes));
    EachProfile(bytes, [&](std::string_view message) {
      const WalkedProfile of = ReadProfile(message);
      profile(of);
      return EachField(message, [&](const WireField& field) {
        if (!IsBytes(field, 2)) return true;
        ReadSample(field.bytes, of, &walked);
        sample(walked);
        return true;
      });
    });
  }
}

}  // namespace stackray
