// The folder of a recorded chain of an interpreter's frames: chain.txt, which is made anew, and expected.txt, which was reviewed.
#ifndef STACKRAY_TESTS_RECORDER_RECORDED_FOLDER_H_
#define STACKRAY_TESTS_RECORDER_RECORDED_FOLDER_H_

#include <filesystem>
#include <string>

namespace stackray {

// Writes `chain` to chain.txt of `folder`, which need not be there. Where expected.txt differs from `frames`, these are printed, and
// the answer is false.
bool KeepChain(const std::filesystem::path& folder, const std::string& chain,
               const std::string& frames);

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_RECORDED_FOLDER_H_
