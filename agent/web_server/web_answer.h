// One answer, and its bytes as a client gets them.
#ifndef STACKRAY_AGENT_WEB_SERVER_WEB_ANSWER_H_
#define STACKRAY_AGENT_WEB_SERVER_WEB_ANSWER_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/web_server/request_head.h"
#include "agent/web_server/web_body.h"

namespace stackray {

struct WebAnswer {
  int status = 200;
  std::string type = "text/plain; charset=utf-8";
  WebBodyPtr body;  // Never nullptr.
  std::vector<std::pair<std::string, std::string>> headers;
};

WebAnswer TextAnswer(int status, std::string text);
// {"error": MESSAGE}; characters that would have to be escaped are left out.
WebAnswer ErrorAnswer(int status, std::string_view message);

// How a request wants its answer.
struct AnswerForm {
  bool gzip = false;       // Taken.
  bool head_only = false;  // HEAD.
  bool chunks = true;      // HTTP/1.1; else a body of unknown length ends with the connection.
  bool close_after = false;
};
AnswerForm FormFor(const RequestHead& head);

// The bytes of one answer, part by part. A body is shared, and lives as long as this.
// Threads: one owns it. Memory: 100 KiB where a body has to be expanded.
class AnswerBytes {
 public:
  // `shared_headers`: lines of every answer, each with its end. `policy`: of answers without one.
  AnswerBytes(const WebAnswer& answer, const AnswerForm& form, std::string_view shared_headers,
              std::string_view policy);

  // What is to be sent next; empty: nothing is left. Stays valid until Skip().
  std::string_view Next() const;
  // So many bytes of Next() are sent.
  void Skip(size_t count);
  bool damaged() const { return damaged_; }  // The body ends early: so must the connection.
  bool close_after() const { return close_after_; }

 private:
  void MakeChunk();
  void ReadFilePart();

  std::string part_;  // The head, then chunk by chunk.
  WebBodyPtr body_;
  std::string_view rest_;  // Of body_, where it is sent as it lies.
  std::unique_ptr<BodyExpander> expander_;
  size_t sent_of_part_ = 0;
  uint64_t sent_of_file_ = 0;
  bool is_file_ = false;  // The body is one, and is to be sent.
  bool chunks_ = false, damaged_ = false, close_after_ = false;
};

}  // namespace stackray

#endif  // STACKRAY_AGENT_WEB_SERVER_WEB_ANSWER_H_
