// Gives a part of a batch the dictionary it needs.
#ifndef STACKRAY_REPORTER_DICTIONARY_SUBSET_H_
#define STACKRAY_REPORTER_DICTIONARY_SUBSET_H_

#include "absl/status/status.h"
#include "reporter/proto/profiles.pb.h"

namespace stackray {

// `part` holds some of a batch's profiles, with indices into `whole`. Copies the entries it uses
// into `dictionary`, which is empty, and renumbers its indices. Entries keep their order, element 0
// of every table is kept. `whole` is as before. Costs as much as the part is large, and a bit for
// each entry of the whole.
// Errors: DataLoss (an index out of its table); `part` is then of no more use.
absl::Status CopyDictionary(
    opentelemetry::proto::profiles::v1development::ProfilesDictionary& whole,
    google::protobuf::RepeatedPtrField<
        opentelemetry::proto::profiles::v1development::ResourceProfiles>& part,
    opentelemetry::proto::profiles::v1development::ProfilesDictionary& dictionary);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_DICTIONARY_SUBSET_H_
