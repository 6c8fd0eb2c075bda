#include "src/edge/operations.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

namespace sluice::edge {
namespace {

constexpr std::array<std::string_view, 9> kStandardMethods{
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"};

std::string UpperCase(std::string_view text) {
  std::string upper{text};
  for (char& c : upper) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return upper;
}

// Checks the settings and compiles them, operation by operation in their order.
class Compiler {
 public:
  Compiler(const PolicyBook& book, std::vector<EdgeError>& errors) : book_(book), errors_(errors) {}

  Operation Compile(const OperationSettings& settings, const std::string& place,
                    const std::vector<IdentityKind>& default_sources) {
    CheckOperationId(settings.id, place);
    Operation operation{.id = settings.id,
                        .route = CompileRoute(settings.match, place),
                        .exempt = settings.exempt,
                        .plan = nullptr,
                        .policy_items = {},
                        .cost = settings.cost,
                        .sources = settings.sources.empty() ? default_sources : settings.sources};
    CheckSources(settings.sources, place + ".subject");
    if (!settings.exempt) {
      SetPlan(settings.policies, place + ".policies", operation);
      CheckCost(operation, place + ".cost");
    } else if (!settings.policies.empty()) {
      Fail(place + ".policies", "an exempt operation counts nothing: leave its policies out");
    }
    return operation;
  }

  void SetPlan(const std::vector<std::string>& ids, const std::string& place,
               Operation& operation) {
    if (ids.empty()) return Fail(place, "an operation has a policy, unless it is exempt");
    bool known = true;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (book_.Find(ids[i]) != nullptr) continue;
      Fail(fmt::format("{}[{}]", place, i), "there is no policy " + QuotedId(ids[i]));
      known = false;
    }
    if (!known) return;
    auto plan = book_.PlanOf(ids);
    if (!plan) return Fail(place, std::move(plan).error());
    operation.plan = *std::move(plan);
    operation.policy_items = PolicyItemsOf(*operation.plan);
  }

  void CheckSources(const std::vector<IdentityKind>& sources, const std::string& place) {
    std::set<IdentityKind> seen;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      const std::string at = fmt::format("{}[{}]", place, i);
      if (sources[i] == IdentityKind::kOpaque || sources[i] == IdentityKind::kAnonymous) {
        Fail(at, "a request names its client by principal, api-key or client-ip");
      } else if (!seen.insert(sources[i]).second) {
        Fail(at, fmt::format("\"{}\" comes twice", Name(sources[i])));
      }
    }
  }

  void Fail(std::string place, std::string message) {
    errors_.emplace_back(std::move(place), std::move(message));
  }

 private:
  void CheckOperationId(const std::string& id, const std::string& place) {
    if (!IsId(id)) {
      return Fail(place + ".id", "an id is a letter and then up to 63 letters, digits and . _ -");
    }
    const auto [first, fresh] = ids_.try_emplace(id, place);
    if (!fresh) Fail(place + ".id", first->second + " has this id too");
  }

  Route CompileRoute(const RouteMatch& match, const std::string& operation) {
    const std::string place = operation + ".match";
    const std::size_t errors_before = errors_.size();
    Route route;
    for (std::size_t i = 0; i < match.methods.size(); ++i) {
      CheckMethod(match.methods[i], fmt::format("{}.methods[{}]", place, i));
    }
    std::set<std::string> methods(match.methods.begin(), match.methods.end());
    if (methods.contains("GET")) methods.insert("HEAD");
    route.methods.assign(methods.begin(), methods.end());
    if (!match.host.empty()) route.host = Parse<HostPattern>(match.host, place + ".host");
    if (!match.path.empty()) route.path = Parse<PathPattern>(match.path, place + ".path");
    if (errors_.size() == errors_before) CheckRouteIsFirst(route, operation);
    return route;
  }

  // An operation that another one hides is a mistake; found where both say the same.
  void CheckRouteIsFirst(const Route& route, const std::string& operation) {
    for (const auto& [earlier, place] : routes_) {
      if (earlier != route) continue;
      return Fail(operation + ".match", "never applies: " + place + " matches the same requests");
    }
    routes_.emplace_back(route, operation);
  }

  // Methods are case-sensitive, so "post" would be an operation that never applies.
  void CheckMethod(std::string_view method, const std::string& place) {
    const std::string upper = UpperCase(method);
    if (!IsMethod(method)) {
      Fail(place, "a method is one word, such as GET");
    } else if (method != upper &&
               std::ranges::find(kStandardMethods, upper) != kStandardMethods.end()) {
      Fail(place, "methods are case-sensitive: write " + upper);
    }
  }

  void CheckCost(const Operation& operation, const std::string& place) {
    std::int64_t most = kMaximumAmount;
    if (operation.plan) {
      for (const Policy& policy : operation.plan->policies()) {
        most = std::min(most, policy.maximum_cost());
      }
    }
    if (operation.cost >= 1 && operation.cost <= most) return;
    Fail(place, fmt::format("{} is out of bounds; allowed: 1 to {}, the smallest maximum_cost of "
                            "its policies",
                            operation.cost, most));
  }

  template <typename Pattern>
  std::optional<Pattern> Parse(std::string_view text, const std::string& place) {
    auto pattern = Pattern::Parse(text);
    if (pattern) return *std::move(pattern);
    Fail(place, std::move(pattern).error());
    return std::nullopt;
  }

  const PolicyBook& book_;
  std::vector<EdgeError>& errors_;
  std::map<std::string, std::string> ids_;             // of operations, and their place
  std::vector<std::pair<Route, std::string>> routes_;  // those without an error, and their place
};

bool Covers(const Route& route, std::string_view method, std::string_view host,
            std::string_view path) {
  return (!route.path || route.path->Matches(path)) &&
         (route.methods.empty() ||
          std::ranges::find(route.methods, method) != route.methods.end()) &&
         (!route.host || route.host->Matches(host));
}

}  // namespace

Operations::Operations(const EdgeSettings& settings, const PolicyBook& book,
                       std::vector<EdgeError>& errors) {
  Compiler compiler(book, errors);
  const auto& sources = settings.identity.sources;
  if (sources.empty()) compiler.Fail("identity.sources", "names at least one source");
  compiler.CheckSources(sources, "identity.sources");
  for (std::size_t i = 0; i < settings.operations.size(); ++i) {
    operations_.push_back(
        compiler.Compile(settings.operations[i], fmt::format("operations[{}]", i), sources));
  }
  Operation& unmatched = operations_.emplace_back();
  unmatched.id = kUnmatched;
  unmatched.sources = sources;
  if (book.Find(settings.default_policy) == nullptr) {
    compiler.Fail("default_policy", "there is no policy " + QuotedId(settings.default_policy));
  } else {
    compiler.SetPlan({settings.default_policy}, "default_policy", unmatched);
  }
}

const Operation& Operations::Match(std::string_view method, std::string_view host,
                                   std::string_view path) const {
  const std::string_view name = HostPattern::NameOf(host);
  const auto match = std::ranges::find_if(operations_, [&](const Operation& operation) {
    return Covers(operation.route, method, name, path);
  });
  return *match;  // the last one covers everything
}

const Operation* Operations::Find(std::string_view id) const {
  const auto found = std::ranges::find(operations_, id, &Operation::id);
  return found == operations_.end() ? nullptr : &*found;
}

bool IsMethod(std::string_view method) {
  constexpr std::string_view kMarks = "!#$%&'*+-.^_`|~";
  return !method.empty() && std::ranges::all_of(method, [&](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
           kMarks.find(c) != std::string_view::npos;
  });
}

}  // namespace sluice::edge
