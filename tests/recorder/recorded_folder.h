// The folders of tests/fixtures: what was recorded (walk.txt of a native stack, chain.txt of an
// interpreter's frames), which is made anew, and expected.txt, which was reviewed.
#ifndef STACKRAY_TESTS_RECORDER_RECORDED_FOLDER_H_
#define STACKRAY_TESTS_RECORDER_RECORDED_FOLDER_H_

#include <filesystem>
#include <string>
#include <vector>

namespace stackray {

// A whole file; empty: it cannot be read.
std::string ReadText(const std::filesystem::path& path);
// The names of the folders in `folder` that hold a file `recording`, in order.
std::vector<std::string> RecordingsIn(const std::filesystem::path& folder,
                                      const std::string& recording);

// Writes `chain` to chain.txt of `folder`, which need not be there. Where expected.txt differs from
// `frames`, these are printed, and the answer is false.
bool KeepChain(const std::filesystem::path& folder, const std::string& chain,
               const std::string& frames);

}  // namespace stackray

#endif  // STACKRAY_TESTS_RECORDER_RECORDED_FOLDER_H_
