#include "web/web_page.h"

#include <cstddef>

// The assembler reads the file, so the compiler need not see 60 kB of text. The build makes this
// object depend on the file; ccache sees .incbin and leaves this object alone.
asm(".pushsection .rodata\n"
    ".balign 16\n"
    ".hidden stackray_web_page_begin\n"
    ".global stackray_web_page_begin\n"
    "stackray_web_page_begin:\n"
    ".incbin \"" STACKRAY_WEB_PAGE_FILE
    "\"\n"
    ".hidden stackray_web_page_end\n"
    ".global stackray_web_page_end\n"
    "stackray_web_page_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" const char stackray_web_page_begin[];
extern "C" const char stackray_web_page_end[];

namespace stackray {

std::string_view WebPage() {
  return {stackray_web_page_begin,
          static_cast<size_t>(stackray_web_page_end - stackray_web_page_begin)};
}

}  // namespace stackray
