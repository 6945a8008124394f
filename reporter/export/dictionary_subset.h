// Reduces a batch's dictionary to what its profiles still use, after some of them were taken out.
#ifndef STACKRAY_REPORTER_EXPORT_DICTIONARY_SUBSET_H_
#define STACKRAY_REPORTER_EXPORT_DICTIONARY_SUBSET_H_

#include "absl/status/status.h"
#include "reporter/proto/profiles_service.pb.h"

namespace stackray {

// Entries keep their order, element 0 of every table stays, and all indices are renumbered.
// Errors: DataLoss (an index out of its table); `request` is then of no more use.
absl::Status ReduceDictionary(
    opentelemetry::proto::collector::profiles::v1development::ExportProfilesServiceRequest&
        request);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_DICTIONARY_SUBSET_H_
