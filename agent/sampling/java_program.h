// What a JVM was told to run, by its command line: the main class or the jar.
#ifndef STACKRAY_AGENT_SAMPLING_JAVA_PROGRAM_H_
#define STACKRAY_AGENT_SAMPLING_JAVA_PROGRAM_H_

#include <string>
#include <string_view>

namespace stackray {

// Is this the java launcher (/usr/lib/jvm/…/bin/java)?
bool IsJavaLauncher(std::string_view executable_path);

// `command_line`: the arguments, each with a NUL behind it, as /proc/PID/cmdline has them; the
// process may have written anything there. "org.example.Main" for a class, "server" for
// /opt/server.jar, "example/org.example.Main" is "org.example.Main". Empty: it does not say, as
// where the arguments are in a file (@FILE).
std::string JavaProgramOf(std::string_view command_line);

}  // namespace stackray

#endif  // STACKRAY_AGENT_SAMPLING_JAVA_PROGRAM_H_
