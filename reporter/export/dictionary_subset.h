// Gives a part of a batch the dictionary it needs.
#ifndef STACKRAY_REPORTER_EXPORT_DICTIONARY_SUBSET_H_
#define STACKRAY_REPORTER_EXPORT_DICTIONARY_SUBSET_H_

#include "absl/status/status.h"
#include "reporter/proto/profiles_service.pb.h"

namespace stackray {

// `part` holds some of a batch's profiles, with indices into `whole` and no dictionary. Copies the
// entries that it uses and renumbers its indices. Entries keep their order, element 0 of every
// table is kept. `whole` is as before. Costs as much as the part is large, and a bit for each entry
// of the whole.
// Errors: DataLoss (an index out of its table); `part` is then of no more use.
absl::Status CopyDictionary(
    opentelemetry::proto::profiles::v1development::ProfilesDictionary& whole,
    opentelemetry::proto::collector::profiles::v1development::ExportProfilesServiceRequest& part);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_DICTIONARY_SUBSET_H_
