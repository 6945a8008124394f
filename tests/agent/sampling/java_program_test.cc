#include "agent/sampling/java_program.h"

#include <gtest/gtest.h>

namespace stackray {
namespace {

std::string Program(std::initializer_list<std::string_view> arguments) {
  std::string line;
  for (const std::string_view argument : arguments) line.append(argument).push_back('\0');
  return JavaProgramOf(line);
}

TEST(JavaProgram, IsTheMainClassOrTheJar) {
  EXPECT_EQ(Program({"java", "org.example.Main", "-jar", "x.jar"}), "org.example.Main");
  EXPECT_EQ(Program({"java", "-Xmx1g", "-cp", "a.jar:b.jar", "Main"}), "Main");
  EXPECT_EQ(Program({"java", "-Dkey=value", "-jar", "/opt/server-1.2.jar", "Main"}), "server-1.2");
  EXPECT_EQ(Program({"java", "-p", "mods", "-m", "shop/org.example.Main"}), "org.example.Main");
  EXPECT_EQ(Program({"java", "--module=shop"}), "shop");
  EXPECT_EQ(Program({"java", "--add-opens", "java.base/java.nio=ALL-UNNAMED", "Main"}), "Main");
  EXPECT_EQ(Program({"java", "/tmp/Hello.java"}), "Hello");
}

TEST(JavaProgram, IsEmptyWhereTheCommandLineDoesNotSayIt) {
  EXPECT_EQ(JavaProgramOf(""), "");
  EXPECT_EQ(JavaProgramOf("java"), "");
  EXPECT_EQ(Program({"java", "-version"}), "");
  EXPECT_EQ(Program({"java", "-cp"}), "");
  EXPECT_EQ(Program({"java", "-jar"}), "");
  EXPECT_EQ(Program({"java", "@options", "Main"}), "");
  EXPECT_EQ(Program({"java", "two\nlines"}), "");
  EXPECT_EQ(Program({"java", std::string(256, 'x')}), "");
}

TEST(JavaProgram, OnlyTheLauncherIsAsked) {
  EXPECT_TRUE(IsJavaLauncher("/usr/lib/jvm/java-17-openjdk-amd64/bin/java"));
  EXPECT_TRUE(IsJavaLauncher("java"));
  EXPECT_FALSE(IsJavaLauncher("/usr/bin/javac"));
  EXPECT_FALSE(IsJavaLauncher(""));
}

}  // namespace
}  // namespace stackray
