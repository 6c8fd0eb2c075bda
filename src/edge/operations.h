// From a request to its operation: the routes of the settings, compiled once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/edge.h"

#include "src/edge/patterns.h"
#include "src/edge/policy_book.h"
#include "src/edge/rate_limit_fields.h"

namespace sluice::edge {

/// Which requests an operation covers, ready to compare. An empty member covers all.
struct Route {
  std::vector<std::string> methods;  // sorted; has HEAD wherever it has GET
  std::optional<HostPattern> host;
  std::optional<PathPattern> path;
  friend bool operator==(const Route&, const Route&) = default;
};

/// An operation with all that a judged request needs of it.
struct Operation {
  std::string id;
  Route route;
  bool exempt = false;
  std::shared_ptr<const Plan> plan;  // null iff exempt
  PolicyItems policy_items;          // of the plan
  std::int64_t cost = 1;
  std::vector<IdentityKind> sources;  // never empty
};

/// The operations in order, and after them the one that takes every request they leave: its id is
/// "*", its plan the default policy. All such requests of a client share one budget, whatever their
/// paths, because a path is the client's to choose.
///
/// Thread safety: may be read from any thread.
class Operations {
 public:
  /// The id of the operation that covers what no other does.
  static constexpr std::string_view kUnmatched = "*";

  /// Compiles what `settings` say and adds everything that is wrong with it to `errors`; with an
  /// error added, the object is of no use.
  Operations(const EdgeSettings& settings, const PolicyBook& book, std::vector<EdgeError>& errors);

  /// The first operation that covers the request. `host` as in a Host field, `path` as
  /// NormaliseTarget gives it.
  [[nodiscard]] const Operation& Match(std::string_view method, std::string_view host,
                                       std::string_view path) const;

  /// Null if no operation has the id.
  [[nodiscard]] const Operation* Find(std::string_view id) const;

 private:
  std::vector<Operation> operations_;
};

/// Whether `method` is a token (RFC 9110, 5.6.2), as every method is.
[[nodiscard]] bool IsMethod(std::string_view method);

}  // namespace sluice::edge
