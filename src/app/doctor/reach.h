// The way to a server, step by step: its name, a connection, TLS.
#pragma once

#include "src/app/doctor/asker.h"
#include "src/app/doctor/chart.h"
#include "src/redis/access.h"
#include "src/redis/address.h"

namespace sluice::app::doctor {

/// Judges kResolution, kConnection and kTls, each only if those before it have passed. False: one
/// has failed. Does not log in.
[[nodiscard]] bool Reach(Asker& asker, const redis::Address& address, const redis::Access& access,
                         Chart& chart);

/// The same way to a server without the login.
[[nodiscard]] redis::Access WithoutLogin(const redis::Access& access);

}  // namespace sluice::app::doctor
