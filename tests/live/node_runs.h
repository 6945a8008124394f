// Nodes and Denos that a test can run, and what they say of their own stacks.
#ifndef STACKRAY_TESTS_LIVE_NODE_RUNS_H_
#define STACKRAY_TESTS_LIVE_NODE_RUNS_H_

#include <string>
#include <vector>

namespace stackray::test {

struct Node {
  std::string path;
  bool is_deno = false;
  int major = 0;
  std::string version;  // "20.20.2".
  std::string Name() const { return (is_deno ? "deno " : "node ") + version; }

  // argv of a program of tests/live/programs/node.
  std::vector<std::string> Run(const std::vector<std::string>& options, const std::string& program,
                               const std::vector<std::string>& arguments) const;
};

// This machine's; where STACKRAY_NODES is set, the programs that it lists, by commas.
std::vector<Node> FindNodes();

// A function's place in a script.
struct ScriptFrame {
  std::string function, file;
  int64_t line = 0, column = 0;
  bool IsEqual(const ScriptFrame& other) const;
  std::string Text() const;
};

// The lines "frame …" of programs/node/stops.cjs that have a file, innermost first.
std::vector<ScriptFrame> FramesOfCallSites(const std::string& said);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_NODE_RUNS_H_
