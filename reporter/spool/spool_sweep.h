// Spools of receivers that are configured no longer, or otherwise. Their batches wait for their
// receiver to come back into the settings, but not for ever.
#ifndef STACKRAY_REPORTER_SPOOL_SPOOL_SWEEP_H_
#define STACKRAY_REPORTER_SPOOL_SPOOL_SWEEP_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace stackray {

struct SweptSpool {
  std::string receiver;  // As the folder notes it, printable, at most 512 bytes.
  uint64_t expired_batches = 0, expired_items = 0;  // Removed now, for their age.
  uint64_t waiting_batches = 0, waiting_items = 0, waiting_bytes = 0;
};

// Removes what is older than `max_age` from every spool in `directory` but those of `receivers`,
// and the folders that are empty then. A spool that another process has open is left alone. Returns
// those that held something. Never fails: what cannot be read or removed stays.
std::vector<SweptSpool> SweepOtherSpools(const std::string& directory,
                                         const std::vector<std::string>& receivers,
                                         std::chrono::milliseconds max_age, int64_t now_unix_ms);

// Hands what waits for one receiver to another, whose own spool must be empty or missing: for an
// address or a directory that was changed at run time. Both must be closed.
// Errors: FailedPrecondition (one is open, or the other has batches of its own), NotFound (there is
// nothing), Unavailable. Nothing is changed then.
absl::Status RenameSpool(const std::string& directory, const std::string& receiver,
                         const std::string& new_directory, const std::string& new_receiver);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_SPOOL_SPOOL_SWEEP_H_
