// Whose batches a spool holds: what of the settings makes a receiver another one.
#ifndef STACKRAY_REPORTER_EXPORT_RECEIVER_IDENTITY_H_
#define STACKRAY_REPORTER_EXPORT_RECEIVER_IDENTITY_H_

#include <string>

#include "reporter/export/receiver_settings.h"

namespace stackray {

// "grpc://host:4317", "https://host/path headers=0123456789abcdef". Protocol, address and path;
// and, as a hash, the query and those headers that do not look like credentials (a tenant's name is
// another receiver, a new password is not). One printable line without secrets. For
// SpoolSettings::receiver.
std::string ReceiverIdentity(const ReceiverSettings& settings);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_EXPORT_RECEIVER_IDENTITY_H_
