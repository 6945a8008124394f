#include "agent/sampling/service_name.h"

#include <gtest/gtest.h>

namespace stackray {
namespace {

ServiceNameOrder Order(std::initializer_list<const char*> words) {
  ServiceNameOrder order;
  for (const char* word : words) order.push_back(ServiceNameSourceOf(word).value());
  return order;
}

struct Said {
  std::string context, environment, workload, unit, container_name, container_id, command, java;
};

std::string Choose(const ServiceNameOrder& order, const Said& said) {
  ProcessInfo info{.container_id = said.container_id, .container_name = said.container_name};
  if (!said.workload.empty())
    info.claimed.emplace_back("claimed.k8s.deployment.name", said.workload);
  return ChooseServiceName(order, {.context = said.context,
                                   .environment = said.environment,
                                   .unit = said.unit,
                                   .info = info,
                                   .command = [&] { return said.command; },
                                   .java = [&] { return said.java; }})
      .name;
}

TEST(ServiceName, TheFirstSourceThatKnowsOneCounts) {
  const ServiceNameOrder order = DefaultServiceNameOrder();
  Said said{"context",   "environment",      "workload", "unit",
            "container", "0123456789abcdef", "command",  "java"};
  EXPECT_EQ(Choose(order, said), "context");
  said.context.clear();
  EXPECT_EQ(Choose(order, said), "environment");
  said.environment.clear();
  EXPECT_EQ(Choose(order, said), "workload");
  said.workload.clear();
  EXPECT_EQ(Choose(order, said), "unit");
  said.unit.clear();
  EXPECT_EQ(Choose(order, said), "container");
  said.container_name.clear();
  EXPECT_EQ(Choose(order, said), "java");
  said.java.clear();
  EXPECT_EQ(Choose(order, said), "command");
  said.command.clear();
  EXPECT_EQ(Choose(order, said), "0123456789ab");
}

TEST(ServiceName, OtherOrdersAndFewerSources) {
  const Said said{"", "environment", "", "unit", "", "0123456789abcdef", "command", ""};
  EXPECT_EQ(Choose(Order({"command", "environment"}), said), "command");
  EXPECT_EQ(Choose(Order({"systemd"}), said), "unit");
  EXPECT_EQ(Choose(Order({"context"}), said), "");
  EXPECT_EQ(ServiceNameSourceOf("dns"), std::nullopt);
}

TEST(ServiceName, AWorkloadIsNamedInTheOrderOfTheConventions) {
  const ProcessInfo info{.claimed = {{"claimed.k8s.pod.name", "shop-7d9-x"},
                                     {"claimed.k8s.statefulset.name", "shop"}}};
  EXPECT_EQ(
      ChooseServiceName(Order({"kubernetes"}),
                        {.context = {}, .environment = {}, .unit = {}, .info = info, .command = {}})
          .name,
      "shop");
}

// A unit and a container are in the cgroup's path, which a process does not choose.
TEST(ServiceName, WhoseWordItIs) {
  std::vector<ServiceNameSource> own;
  for (const ServiceNameSource source : DefaultServiceNameOrder())
    if (IsOwnWord(source)) own.push_back(source);
  EXPECT_EQ(own, Order({"context", "environment", "kubernetes", "java", "command"}));
}

TEST(ServiceName, ACommandIsWhatTheProgramWasCalled) {
  // Debian's redis-server is a symbolic link.
  EXPECT_EQ(CommandName("redis-server", "", "/usr/bin/redis-check-rdb"), "redis-server");
  EXPECT_EQ(CommandName("", "redis-server", "/usr/bin/redis-check-rdb"), "redis-server");
  // A script that names its interpreter in its first line.
  EXPECT_EQ(CommandName("gunicorn", "", "/usr/bin/python3.11"), "gunicorn");
  // The kernel keeps 15 bytes.
  EXPECT_EQ(CommandName("a-rather-long-n", "", "/bin/a-rather-long-name"), "a-rather-long-name");
  EXPECT_EQ(CommandName("a-rather-long-l", "a-rather-long-link", "/bin/x"), "a-rather-long-link");
  EXPECT_EQ(CommandName("a-rather-long-n", "", "/bin/x"), "a-rather-long-n");
}

TEST(ServiceName, WhatSaysNothingGivesWayToTheExecutable) {
  EXPECT_EQ(CommandName("exe", "", "/opt/chrome"), "chrome");
  EXPECT_EQ(CommandName("6", "", "/usr/bin/runc"), "runc");
  EXPECT_EQ(CommandName("", "", "/usr/bin/app"), "app");
  EXPECT_EQ(CommandName("6", "", ""), "6");
  EXPECT_EQ(CommandName("", "", ""), "");
}

TEST(ServiceName, MemoryThatDisagreesWithTheKernelIsNotBelieved) {
  EXPECT_EQ(CommandName("redis-server", "sshd", "/usr/bin/redis-check-rdb"), "redis-server");
}

}  // namespace
}  // namespace stackray
