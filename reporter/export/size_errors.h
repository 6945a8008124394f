// What receivers say when a request, or a profile in it, is too large for them: there is no code
// for it, only words.
#ifndef STACKRAY_REPORTER_EXPORT_SIZE_ERRORS_H_
#define STACKRAY_REPORTER_EXPORT_SIZE_ERRORS_H_

#include <cstddef>
#include <string_view>

namespace stackray {

// An error's text speaks of a size limit: of the request as a whole, which was then not looked
// into; or of a profile in it, and then the request's other profiles may be stored. At most one of
// the two holds.
bool SpeaksOfRequestSize(std::string_view message);
bool SpeaksOfProfileSize(std::string_view message);

// The limit in bytes inside "… larger than max (5000000 vs. 4194304)" or, without what was sent, "…
// larger than max 4194304", as gRPC's servers write it before and after decompression; 0 where
// there is none.
size_t SizeLimitIn(std::string_view message);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_SIZE_ERRORS_H_
