// Settings for a receiver on 127.0.0.1.
#ifndef STACKRAY_TESTS_REPORTER_EXPORT_TEST_SETTINGS_H_
#define STACKRAY_TESTS_REPORTER_EXPORT_TEST_SETTINGS_H_

#include "reporter/export/receiver_settings.h"

namespace stackray {

inline ReceiverSettings LocalSettings(ExportProtocol protocol, uint16_t port) {
  ReceiverSettings settings;
  settings.protocol = protocol;
  settings.endpoint = {
      .host = "127.0.0.1", .port = port, .http_path = std::string(kProfilesPath), .http_base = ""};
  return settings;
}

inline constexpr std::chrono::seconds kLongTimeout{20};

}  // namespace stackray

#endif  // STACKRAY_TESTS_REPORTER_EXPORT_TEST_SETTINGS_H_
