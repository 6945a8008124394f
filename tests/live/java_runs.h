// The JDKs of this machine, and Java programs run by them.
#ifndef STACKRAY_TESTS_LIVE_JAVA_RUNS_H_
#define STACKRAY_TESTS_LIVE_JAVA_RUNS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/live/talking_program.h"

namespace stackray::test {

struct Jdk {
  std::string home;                // As its own processes see it.
  std::string version;             // "17".
  std::vector<std::string> enter;  // What goes in front of its programs: "chroot", ROOT.

  int number() const;
  // bin/java with these options.
  std::vector<std::string> Java(const std::vector<std::string>& options) const;
};

// Each version once, in ascending order: those below /usr/lib/jvm that have java and jstack. Where
// STACKRAY_JDKS is set, what it says in their place: "chroot ROOT HOME,HOME,...".
std::vector<Jdk> FindJdks();

// Compiles tests/live/programs/java/NAME.java for JDK 8 and newer, once; the folder of its classes.
// Empty: there is no compiler.
std::string CompileJava(const std::string& name);

// The Java frames of the thread called `thread`, innermost first, as the JVM itself says them to
// jstack: "Shapes.third:78". It stops the JVM's threads at their next safepoint. Empty: no answer.
std::vector<std::string> ThreadFrames(uint32_t pid, const std::string& thread);

// Frames in a text: lines of jstack ("at Shapes.third(Shapes.java:78)"), or as ThreadFrames() says
// them. What follows a hidden class's name is left out.
std::vector<std::string> FramesOfDump(const std::string& text);
std::vector<std::string> FramesOfTrace(const std::string& text);

// Waits until the program has said a line `line` that it had not said before `from` bytes; what it
// has said since. Empty: it has not, or has ended.
std::string WaitForLine(TalkingProgram& program, size_t from, const std::string& line,
                        int timeout_ms);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_JAVA_RUNS_H_
