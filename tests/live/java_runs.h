// The JDKs of this machine, and Java programs run by them.
#ifndef STACKRAY_TESTS_LIVE_JAVA_RUNS_H_
#define STACKRAY_TESTS_LIVE_JAVA_RUNS_H_

#include <string>
#include <vector>

namespace stackray::test {

struct Jdk {
  std::string home;
  std::string version;  // "17".
};

// Each version once, in ascending order: those below /usr/lib/jvm that have java and jstack.
std::vector<Jdk> FindJdks();

// Compiles tests/live/programs/java/NAME.java for JDK 8 and newer, once; the folder of its classes.
// Empty: there is no compiler.
std::string CompileJava(const std::string& name);

// The Java frames of the thread called `thread`, innermost first, as the JVM itself says them:
// "Shapes.third:78". It stops the JVM's threads at their next safepoint. Empty: no answer.
std::vector<std::string> ThreadFrames(const Jdk& jdk, uint32_t pid, const std::string& thread);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_JAVA_RUNS_H_
