// Addresses as they may stand in a log, a message or a status.
#ifndef STACKRAY_REPORTER_SHOWN_URL_H_
#define STACKRAY_REPORTER_SHOWN_URL_H_

#include <string>
#include <string_view>

namespace stackray {

// User and password, and a query's text, which may be secrets, are each "***". Takes any text, also
// what is no address.
std::string ShownUrl(std::string_view url);

}  // namespace stackray

#endif  // STACKRAY_REPORTER_SHOWN_URL_H_
