#include "src/redis/reply_error.h"

#include <algorithm>
#include <iterator>
#include <string>

#include <fmt/core.h>

namespace sluice::redis {
namespace {

enum class Meaning : std::uint8_t { kNotRun, kAborted, kDenied, kWrongServer };
enum class Connection : std::uint8_t { kKeep, kClose, kReload };

// The first row whose token is the reply's first and whose text occurs in it decides.
struct Row {
  std::string_view token;
  std::string_view text;  // empty: any
  Meaning meaning;
  Connection connection;
  std::string_view explanation;
};

constexpr Row kRows[] = {
    // Not run, and nothing is wrong with this connection.
    {"NOSCRIPT", "", Meaning::kNotRun, Connection::kReload,
     "the server keeps forgetting the script"},
    {"LOADING", "", Meaning::kNotRun, Connection::kKeep, "the server is loading its data"},
    {"BUSY", "", Meaning::kNotRun, Connection::kKeep, "another script blocks the server"},
    {"OOM", "", Meaning::kNotRun, Connection::kKeep, "the server's memory is full"},
    {"MISCONF", "", Meaning::kNotRun, Connection::kKeep,
     "the server cannot persist and refuses writes"},
    {"NOREPLICAS", "", Meaning::kNotRun, Connection::kKeep, "too few replicas are connected"},
    {"CLUSTERDOWN", "", Meaning::kNotRun, Connection::kKeep, "the cluster is not serving"},
    {"EXECABORT", "", Meaning::kNotRun, Connection::kKeep, "a transaction was refused"},
    {"TRYAGAIN", "", Meaning::kNotRun, Connection::kKeep, "the slot is being migrated"},
    // Not run, and another server is the right one by now.
    {"READONLY", "", Meaning::kNotRun, Connection::kClose, "the server is a replica"},
    {"MASTERDOWN", "", Meaning::kNotRun, Connection::kClose,
     "the server is a replica without its primary"},
    {"REDIRECT", "", Meaning::kNotRun, Connection::kClose, "the server is a replica"},
    // Somebody has to change something. The next connection logs in again, with a password that may
    // have changed since, and finds out what is missing, so that nobody takes this one for ready.
    {"NOAUTH", "", Meaning::kDenied, Connection::kClose, "the server asks for a login"},
    {"WRONGPASS", "", Meaning::kDenied, Connection::kClose, "the user name or password is wrong"},
    {"NOPERM", "access", Meaning::kDenied, Connection::kClose, "the user may not use such keys"},
    {"NOPERM", "", Meaning::kDenied, Connection::kClose, "the user may not run this command"},
    {"MOVED", "", Meaning::kWrongServer, Connection::kKeep,
     "cluster-mode server, standalone configured"},
    {"ASK", "", Meaning::kWrongServer, Connection::kKeep,
     "cluster-mode server, standalone configured"},
    {"CROSSSLOT", "", Meaning::kWrongServer, Connection::kKeep,
     "the keys of one call are in different slots"},
    {"NOPROTO", "", Meaning::kWrongServer, Connection::kKeep, "the server speaks another protocol"},
    // Servers before 7.0 wrap what a command inside the script was told. These refuse the first
    // write of a script and none after it, so nothing was charged.
    {"ERR", "-READONLY", Meaning::kNotRun, Connection::kClose, "the server is a replica"},
    {"ERR", "-OOM", Meaning::kNotRun, Connection::kKeep, "the server's memory is full"},
    {"ERR", "-MISCONF", Meaning::kNotRun, Connection::kKeep,
     "the server cannot persist and refuses writes"},
    // A permission was taken away after the connection had begun, and the script may have written
    // before it was refused. The next connection finds out which one is missing.
    {"ERR", "The user executing the script can't", Meaning::kAborted, Connection::kClose,
     "the script was refused a command or key"},
    {"ERR", "ACL failure in script", Meaning::kAborted, Connection::kClose,  // since 7.2
     "the script was refused a command or key"},
    {"ERR", "Script killed by user", Meaning::kNotRun, Connection::kKeep,
     "an operator killed the script, which only works before its first write"},
    {"ERR", "ompiling script", Meaning::kWrongServer, Connection::kKeep,
     "the server cannot compile the script"},
    {"ERR", "user_script", Meaning::kAborted, Connection::kKeep,
     "an error was raised inside the script"},
    {"ERR", "unknown command", Meaning::kWrongServer, Connection::kKeep,
     "the server does not know the command"},
    {"ERR", "cluster", Meaning::kWrongServer, Connection::kKeep,
     "cluster and standalone are mixed up"},
    {"ERR", "max number of clients", Meaning::kNotRun, Connection::kClose,
     "the server takes no more clients"},
    {"ERR", "DB index", Meaning::kWrongServer, Connection::kKeep,
     "the server lacks the configured database"},
    // Raised inside the script or unknown: earlier writes of the script stay.
    {"ERR", "", Meaning::kAborted, Connection::kKeep, "the server reported an error"},
    {"WRONGTYPE", "", Meaning::kAborted, Connection::kKeep, "a key holds another type"},
};
constexpr Row kUnknown{"other", "", Meaning::kAborted, Connection::kKeep,
                       "the error is an unknown one"};

// Before 7.0 an error that a script hands on begins with its place in the script.
std::string_view FirstToken(std::string_view error) {
  if (error.starts_with("@user_script")) return "ERR";
  return error.substr(0, error.find_first_of(" \r\n"));
}

const Row& RowOf(std::string_view error) {
  const std::string_view token = FirstToken(error);
  const auto* row = std::ranges::find_if(kRows, [&](const Row& candidate) {
    return candidate.token == token && error.find(candidate.text) != std::string_view::npos;
  });
  return row == std::end(kRows) ? kUnknown : *row;
}

Outcome OutcomeOf(const Row& row, std::string detail) {
  switch (row.meaning) {
    case Meaning::kNotRun:
      return Unavailable{Unavailable::Category::kNoMutationConfirmed, std::move(detail)};
    case Meaning::kDenied:
      return Incompatible{Incompatible::Reason::kPermissionDenied, std::move(detail)};
    case Meaning::kWrongServer:
      return Incompatible{Incompatible::Reason::kServerIncompatible, std::move(detail)};
    case Meaning::kAborted:
      break;
  }
  return Indeterminate{Indeterminate::Category::kScriptAborted, std::move(detail)};
}

}  // namespace

ErrorVerdict JudgeError(std::string_view error, std::string_view command) {
  const Row& row = RowOf(error);
  return {
      .outcome = OutcomeOf(row, fmt::format("{}: {} ({})", command, row.explanation, row.token)),
      .close = row.connection == Connection::kClose,
      .reload = row.connection == Connection::kReload};
}

std::string_view ErrorLabel(std::string_view error) {
  return RowOf(error).token;
}

}  // namespace sluice::redis
