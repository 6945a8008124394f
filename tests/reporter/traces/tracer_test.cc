// Spans that wait: bounded, counted, and nothing while it is off.
#include "reporter/traces/tracer.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace stackray {
namespace {

bool AddsUp(const TracerCounts& counts) {
  return counts.made == counts.dropped + counts.taken + counts.waiting;
}

TEST(Tracer, DoesNothingWhileItIsOff) {
  Tracer tracer;
  EXPECT_FALSE(tracer.enabled());
  EXPECT_FALSE(tracer.NewTrace().valid());
  EXPECT_FALSE(tracer.NewChild({.trace = {1}, .span = {2}, .sampled = true}).valid());
  tracer.End({.context = {.trace = {1}, .span = {2}, .sampled = true}, .name = "batch"});
  EXPECT_TRUE(tracer.Take().empty());
  EXPECT_EQ(tracer.counts().made, 0u);
}

TEST(Tracer, ChildrenAreOfTheirTraceAndIdsDiffer) {
  Tracer tracer;
  tracer.Start({});
  std::set<SpanId> spans;
  std::set<TraceId> traces;
  for (int i = 0; i < 1000; ++i) {
    const SpanIds root = tracer.NewTrace(), child = tracer.NewChild(root);
    EXPECT_TRUE(root.valid() && root.sampled && child.valid() && child.sampled);
    EXPECT_EQ(root.trace, child.trace);
    traces.insert(root.trace);
    spans.insert(root.span);
    spans.insert(child.span);
  }
  EXPECT_EQ(traces.size(), 1000u);
  EXPECT_EQ(spans.size(), 2000u);
}

TEST(Tracer, WhatIsNotSampledIsNotKept) {
  Tracer tracer;
  tracer.Start({.ratio = 0});
  const SpanIds root = tracer.NewTrace();
  EXPECT_TRUE(root.valid());  // It is told to receivers: "not sampled".
  EXPECT_FALSE(root.sampled || tracer.NewChild(root).sampled);
  tracer.End({.context = root, .name = "batch"});
  EXPECT_EQ(tracer.counts().made, 0u);
  // A decision of an earlier process holds.
  tracer.End({.context = {.trace = {1}, .span = {2}, .sampled = true}, .name = "batch"});
  EXPECT_EQ(tracer.Take().size(), 1u);
}

TEST(Tracer, WhatDoesNotFitIsDroppedAndCounted) {
  Tracer tracer;
  tracer.Start({});
  constexpr size_t kMore = 100;
  for (size_t i = 0; i < Tracer::kMostWaiting + kMore; ++i)
    tracer.End({.context = tracer.NewTrace(), .name = "batch", .start_unix_ns = int64_t(i)});
  TracerCounts counts = tracer.counts();
  EXPECT_EQ(counts.made, Tracer::kMostWaiting + kMore);
  EXPECT_EQ(counts.dropped, kMore);
  EXPECT_EQ(counts.waiting, Tracer::kMostWaiting);
  size_t taken = 0;
  for (std::vector<Span> spans = tracer.Take(); !spans.empty(); spans = tracer.Take()) {
    EXPECT_LE(spans.size(), Tracer::kMostAtOnce);
    for (const Span& span : spans) EXPECT_EQ(span.start_unix_ns, int64_t(taken++));  // In order.
  }
  EXPECT_EQ(taken, Tracer::kMostWaiting);
  EXPECT_TRUE(AddsUp(tracer.counts()));
}

TEST(Tracer, ManyThreadsAddUp) {
  Tracer tracer;
  tracer.Start({});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int j = 0; j < 1000; ++j) tracer.End({.context = tracer.NewTrace(), .name = "batch"});
    });
  size_t taken = 0;
  for (int i = 0; i < 1000; ++i) {
    taken += tracer.Take().size();
    EXPECT_TRUE(AddsUp(tracer.counts()));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(AddsUp(tracer.counts()));
  EXPECT_EQ(tracer.counts().made, 4000u);
  EXPECT_EQ(tracer.counts().taken, taken);
}

}  // namespace
}  // namespace stackray
