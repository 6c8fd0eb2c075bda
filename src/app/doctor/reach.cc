#include "src/app/doctor/reach.h"

#include <string>

#include <boost/asio/ip/address.hpp>

#include "src/app/doctor/judgement.h"

namespace sluice::app::doctor {
namespace {

bool Resolve(Asker& asker, const redis::Address& address, Chart& chart) {
  boost::system::error_code is_name;
  (void)boost::asio::ip::make_address(address.host, is_name);
  if (!is_name || !address.unix_path.empty()) {
    chart.Ok(Check::kResolution, "no name");
    return true;
  }
  const auto resolved = asker.Resolve(address.host);
  if (!resolved) {
    chart.Fail(Check::kResolution, Quoted(resolved.error()),
               "look at the configured name, /etc/hosts and the DNS of this machine");
    return false;
  }
  std::string addresses;
  for (const std::string& one : *resolved) addresses += (addresses.empty() ? "" : ", ") + one;
  chart.Ok(Check::kResolution, std::move(addresses));
  return true;
}

bool Connect(Asker& asker, const redis::Address& address, Chart& chart) {
  const std::string error = asker.Connect(address, {});
  if (error.empty()) {
    chart.Ok(Check::kConnection, address.unix_path.empty() ? "TCP" : "unix socket");
    return true;
  }
  chart.Fail(Check::kConnection, error, "is the server up, and does a firewall let us through?");
  return false;
}

// Asks what needs no login, so that a login that fails is the login's fault.
bool Greet(Asker& asker, const redis::Address& address, const redis::Access& access, Chart& chart) {
  const bool has_tls = access.tls != nullptr;
  const auto answer = asker.Ask(address, WithoutLogin(access), {{"PING"}});
  if (!answer.replies) {
    const bool is_late = answer.answered.steady - answer.asked.steady >= asker.timeout();
    const std::string why = DetailOf(answer.replies.error());
    if (has_tls) {
      chart.Fail(Check::kTls, why,
                 "look at ca_file, server_name and the client's certificate in the chapter tls; "
                 "does this port speak TLS at all?");
    } else if (is_late) {
      chart.Fail(Check::kConnection, why, "is the server stopped, or blocked by a slow command?");
    } else {
      chart.Fail(Check::kTls, "not configured, and without it: " + why,
                 "if the port expects TLS, give the chapter tls");
    }
    return false;
  }
  const redis::Reply& pong = answer.replies->front();
  const bool is_error = pong.kind == redis::Reply::Kind::kError;
  const bool is_locked = pong.text.starts_with("NOAUTH") || pong.text.starts_with("NOPERM");
  // A server that cannot persist refuses even PING; that is another check's.
  if (is_error && !is_locked && JudgeRefusal(pong.text).check == Check::kScriptCache) {
    chart.Fail(Check::kConnection, "the server says " + Quoted(pong.text),
               "wait if it is loading; else look at its maxclients and protected-mode");
    return false;
  }
  if (has_tls) {
    chart.Ok(Check::kTls, "certificate verified for " +
                              (access.server_name.empty() ? address.host : access.server_name));
  } else {
    chart.Skip(Check::kTls, "not configured");
  }
  return true;
}

}  // namespace

bool Reach(Asker& asker, const redis::Address& address, const redis::Access& access, Chart& chart) {
  return Resolve(asker, address, chart) && Connect(asker, address, chart) &&
         Greet(asker, address, access, chart);
}

redis::Access WithoutLogin(const redis::Access& access) {
  return {.tls = access.tls, .server_name = access.server_name};
}

}  // namespace sluice::app::doctor
