// How servers are reached, apart from where they are: TLS and a login.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include <boost/asio/ssl/context.hpp>

#include "sluice/redis_limiter.h"

namespace sluice::redis {

struct Access {
  std::shared_ptr<boost::asio::ssl::context> tls{};  ///< null: no TLS
  std::string server_name{};  ///< sent and verified; empty: the address's host
  std::string username{};     ///< empty: the default user
  std::string password{};     ///< empty: that of `password_file`, or no login
  std::string password_file{};
};

/// The access that these options describe, TLS files read; or one sentence on which file is wrong.
/// `tls` null: no TLS.
[[nodiscard]] std::expected<Access, std::string> MakeAccess(const RedisTls* tls,
                                                            std::string username,
                                                            std::string password,
                                                            std::string password_file);

/// The password for the next connection: a file is read each time, so that a changed one counts
/// from then on. Empty: no login. Or one sentence on why the file cannot be read.
[[nodiscard]] std::expected<std::string, std::string> CurrentPassword(const Access& access);

}  // namespace sluice::redis
