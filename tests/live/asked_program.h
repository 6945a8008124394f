// A program that answers a signal with a text, which it appends to a file: how the runtimes'
// programs are asked for the frames of a stopped thread.
#ifndef STACKRAY_TESTS_LIVE_ASKED_PROGRAM_H_
#define STACKRAY_TESTS_LIVE_ASKED_PROGRAM_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace stackray::test {

// A new file in /tmp that programs of any user may write; its path. Empty: none could be made.
std::string MakeAnswerFile();

// Does a handler of the process's own wait for the signal?
bool Catches(uint32_t pid, int signal);
// Waits until it does: before that the signal would end the process. False: 20 s have passed.
bool WaitUntilItCatches(uint32_t pid, int signal);

// Asks a thread, lets the stopped process run again, and waits until what it has appended to
// `answers` is whole. nullopt: it is not within `timeout_ns`, or there is no such thread.
std::optional<std::string> AskBySignal(
    uint32_t pid, uint32_t tid, int signal, const std::string& answers, uint64_t timeout_ns,
    const std::function<bool(const std::string& text)>& is_whole);

}  // namespace stackray::test

#endif  // STACKRAY_TESTS_LIVE_ASKED_PROGRAM_H_
