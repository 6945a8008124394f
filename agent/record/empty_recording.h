// Why a recording has no sample, and what to do: for the terminal and for the page, which would be
// empty otherwise.
// Input:   /proc, which tells of processes as they are when the recording is over.
// Threads: any.
#ifndef STACKRAY_AGENT_RECORD_EMPTY_RECORDING_H_
#define STACKRAY_AGENT_RECORD_EMPTY_RECORDING_H_

#include <cstdint>
#include <string>
#include <vector>

#include "agent/settings/settings.h"

namespace stackray {

// A process as /proc shows it.
struct PresentProcess {
  uint32_t pid = 0;
  std::string command;
};

struct EmptyRecording {
  TargetSettings target;
  uint32_t frequency_hz = 99;
  double seconds = 0;                   // How long it recorded.
  bool program_ended = false;           // kProgram: CMD has ended; kPids: all have.
  uint64_t lost = 0;                    // Samples that were taken and lost.
  std::vector<PresentProcess> present;  // Of the target; for kCommandName every process.
  size_t left_out = 0;                  // kPids with --no-inherit: living descendants.
};

// Looks at the target's processes in /proc.
EmptyRecording LookAtTarget(const TargetSettings& target, uint32_t frequency_hz, double seconds);

// One or two whole sentences.
std::string WhyEmpty(const EmptyRecording& facts);

}  // namespace stackray

#endif  // STACKRAY_AGENT_RECORD_EMPTY_RECORDING_H_
