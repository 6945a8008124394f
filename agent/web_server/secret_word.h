// Words that open the page: made of random bits, and compared without telling how much was right.
#ifndef STACKRAY_AGENT_WEB_SERVER_SECRET_WORD_H_
#define STACKRAY_AGENT_WEB_SERVER_SECRET_WORD_H_

#include <string>
#include <string_view>

namespace stackray {

// 192 random bits as 32 letters, digits, '-' and '_'. Ends the process where the kernel gives none.
std::string MakeSecretWord();

// Takes as long for a wrong word of the right length as for the right one.
bool IsSameSecret(std::string_view given, std::string_view secret);

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_SECRET_WORD_H_
