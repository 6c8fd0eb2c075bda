#include "src/redis/access.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "src/redis/stream.h"

namespace sluice::redis {

std::expected<Access, std::string> MakeAccess(const RedisTls* tls, std::string username,
                                              std::string password, std::string password_file) {
  Access access{.username = std::move(username),
                .password = std::move(password),
                .password_file = std::move(password_file)};
  if (tls == nullptr) return access;
  auto context = MakeTlsContext(*tls);
  if (!context) return std::unexpected(std::move(context).error());
  access.tls = *std::move(context);
  access.server_name = tls->server_name;
  return access;
}

std::expected<std::string, std::string> CurrentPassword(const Access& access) {
  if (access.password_file.empty()) return access.password;
  std::ifstream file(access.password_file, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.good() && !file.eof()) {
    return std::unexpected("AUTH: cannot read the password file " + access.password_file);
  }
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

}  // namespace sluice::redis
