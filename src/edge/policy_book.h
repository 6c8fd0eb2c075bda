// Every policy that operations and callers may name, and the plans made of them.
#pragma once

#include <expected>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sluice/edge.h"
#include "sluice/policy.h"

namespace sluice::edge {

/// Whether `text` is an id as policies and operations have: [A-Za-z][A-Za-z0-9._-]{0,63}.
[[nodiscard]] bool IsId(std::string_view text);

/// `"text"` if it is an id, else words in its place: what is no id may be anybody's data.
[[nodiscard]] std::string QuotedId(std::string_view text);

/// Thread safety: may be read from any thread.
class PolicyBook {
 public:
  /// Adds to `errors` what is wrong with the policies together: an id that comes twice.
  PolicyBook(std::span<const Policy> policies, std::vector<EdgeError>& errors);

  /// Null if no policy has the id.
  [[nodiscard]] const Policy* Find(std::string_view id) const;

  /// The policies of these ids as a plan, or one sentence on why they make none. Plans of a single
  /// policy are made ahead.
  [[nodiscard]] std::expected<std::shared_ptr<const Plan>, std::string> PlanOf(
      std::span<const std::string> ids) const;

 private:
  struct Entry {
    Policy policy;
    std::shared_ptr<const Plan> alone;
  };
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace sluice::edge
