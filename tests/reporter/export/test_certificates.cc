#include "tests/reporter/export/test_certificates.h"

#include <stdlib.h>

#include <fstream>
#include <iterator>
#include <system_error>

namespace stackray {

constexpr char kNewKey[] = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes ";

TestCertificates::TestCertificates() {
  made_ = MakeAuthority("ca") && MakeAuthority("other_ca") &&
          MakeSigned("server", "subjectAltName=IP:127.0.0.1,DNS:localhost") &&
          MakeSigned("client", "extendedKeyUsage=clientAuth");
}

bool TestCertificates::Run(const std::string& arguments) const {
  const std::string command =
      "cd '" + directory_.path() + "' && openssl " + arguments + " 2>>openssl.log";
  return system(command.c_str()) == 0;
}

bool TestCertificates::MakeAuthority(const std::string& name) const {
  return Run("req -x509 " + std::string(kNewKey) + "-days 2 -subj '/CN=stackray test " + name +
             "' -keyout " + name + ".key -out " + name + ".pem");
}

bool TestCertificates::MakeSigned(const std::string& name, const std::string& extension) const {
  std::ofstream(Path(name + ".ext")) << extension << '\n';
  return Run("req " + std::string(kNewKey) + "-subj '/CN=" + name + "' -keyout " + name +
             ".key -out " + name + ".csr") &&
         Run("x509 -req -days 2 -in " + name +
             ".csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile " + name + ".ext -out " +
             name + ".pem");
}

std::string TestCertificates::Read(const std::string& name) const {
  std::ifstream file(Path(name), std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace stackray
