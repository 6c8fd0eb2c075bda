// What an error reply means: one table from its words to an outcome and to what becomes of the
// connection.
#pragma once

#include <string_view>

#include "sluice/outcome.h"

namespace sluice::redis {

struct ErrorVerdict {
  Outcome outcome;
  /// Nothing good can come over this connection any more: let what is under way come in, close it
  /// and resolve the address anew.
  bool close = false;
  /// The server has forgotten the script. It was not run: load it on this connection and repeat
  /// once; `outcome` is for the second time.
  bool reload = false;
};

/// Reads an error reply to `command` ("EVALSHA", "SCRIPT LOAD", …). The first token of `error`
/// decides, and for "ERR", the token of everything without its own, also its text.
///
/// A token that the table lacks is read as the worst it can be: something may have been charged.
/// The outcome's detail names the token and the command and quotes no argument, so no secret.
///
/// Source: Redis 7.0.15, src/server.c (processCommand) and src/script.c; Valkey 8, the same files.
[[nodiscard]] ErrorVerdict JudgeError(std::string_view error, std::string_view command);

/// The first word of `error` if the table knows it, else "other": few enough for a metric's label.
/// A literal.
[[nodiscard]] std::string_view ErrorLabel(std::string_view error);

}  // namespace sluice::redis
