#include "src/http/response.h"

#include <gtest/gtest.h>

namespace sluice::http {
namespace {

TEST(Response, IsAppendedToWhatIsThere) {
  std::string output = "before";
  AppendResponse(output, {.status = 429, .headers = {{"Retry-After", "3"}}, .body = "{}"},
                 {.date = "Sun, 06 Nov 1994 08:49:37 GMT"});
  EXPECT_EQ(output,
            "beforeHTTP/1.1 429 Too Many Requests\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "Retry-After: 3\r\nContent-Length: 2\r\n\r\n{}");
}

// nginx keeps the connection of an auth subrequest only after an answer whose length is 0.
TEST(Response, AllowedHasALengthOfZero) {
  std::string output;
  AppendResponse(output, {.status = 200}, {});
  EXPECT_EQ(output, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
}

TEST(Response, EveryStatusInUseHasAPhrase) {
  for (const int status :
       {200, 400, 401, 403, 404, 405, 408, 409, 413, 414, 417, 422, 429, 431, 500, 503, 505}) {
    EXPECT_FALSE(ReasonPhrase(status).empty()) << status;
  }
  EXPECT_TRUE(ReasonPhrase(299).empty());
}

TEST(Response, DatesAreWrittenAsRfc9110Has) {
  EXPECT_EQ(HttpDate(std::chrono::sys_seconds{std::chrono::seconds{784'111'777}}),
            "Sun, 06 Nov 1994 08:49:37 GMT");
}

}  // namespace
}  // namespace sluice::http
