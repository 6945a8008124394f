// CMD beside the recording: whose signal it is, and who waits for whom.
//
//   the first Ctrl-C, SIGTERM or SIGHUP   is CMD's: it is handed on unless CMD has it already,
//                                         being in the process group that got it. The recording
//                                         goes on for a second, so that CMD's end is in it.
//   a second one                          leaves CMD and says that it still runs.
//   the recording is over before CMD      its files are written; then CMD is waited for (not after
//                                         a SIGHUP: whoever waited has gone).
//
// Threads: one.
#ifndef STACKRAY_AGENT_RECORD_PROGRAM_WATCH_H_
#define STACKRAY_AGENT_RECORD_PROGRAM_WATCH_H_

#include <cstdint>
#include <memory>
#include <string>

#include "agent/record/child_program.h"
#include "agent/record/group_witness.h"

namespace stackray {

class ProgramWatch {
 public:
  // `child` outlives this. `name`: of CMD, for messages. Call it before there is any thread.
  ProgramWatch(ChildProgram& child, std::string name);

  // Hands signals on; call it every turn. True: CMD has ended, or the user wants the recording to
  // end.
  bool RecordingIsOver(uint64_t now_ns);
  // Call it when the files are written. CMD's exit code, or 128 and the signal's number that left
  // it.
  int WaitForEnd();

 private:
  void HandOn();
  bool IsLeft() const;

  ChildProgram& child_;
  const std::string name_;
  const std::unique_ptr<GroupWitness> witness_;  // nullptr: every signal is handed on.
  uint64_t first_signal_ns_ = 0;
  int seen_signals_ = 0;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_RECORD_PROGRAM_WATCH_H_
