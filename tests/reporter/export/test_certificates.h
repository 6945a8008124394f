// A certification authority for one test, made with the openssl program: nothing secret is
// committed and nothing expires in the tree.
#ifndef STACKRAY_TESTS_REPORTER_EXPORT_TEST_CERTIFICATES_H_
#define STACKRAY_TESTS_REPORTER_EXPORT_TEST_CERTIFICATES_H_

#include <string>

#include "tests/temporary_directory.h"

namespace stackray {

// Files in a directory of its own, removed with the object. Server and client are signed by `ca`;
// the server's name is 127.0.0.1. `other_ca` signed neither.
class TestCertificates {
 public:
  TestCertificates();

  bool made() const { return made_; }  // False: openssl is missing or failed.
  std::string Path(const std::string& name) const { return directory_.File(name); }
  std::string Read(const std::string& name) const;

 private:
  bool Run(const std::string& arguments) const;
  bool MakeAuthority(const std::string& name) const;
  bool MakeSigned(const std::string& name, const std::string& extension) const;

  const test::TemporaryDirectory directory_;
  bool made_ = false;
};

}  // namespace stackray

#endif  // STACKRAY_TESTS_REPORTER_EXPORT_TEST_CERTIFICATES_H_
