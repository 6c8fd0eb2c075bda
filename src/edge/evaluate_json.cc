#include "src/edge/evaluate_json.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "src/edge/evaluation_id.h"

namespace sluice::edge {
namespace {

using nlohmann::json;

constexpr std::size_t kMaximumDepth = 2;  // the request and its subject or its list
constexpr std::int64_t kMaximumBudgetMs = 60'000;
constexpr std::size_t kMaximumEchoedName = 32;

using Problem = std::optional<std::string>;

// A field's name if it looks like one. What does not may be somebody's data gone astray.
std::string Quoted(std::string_view name) {
  const bool echoed =
      !name.empty() && name.size() <= kMaximumEchoedName && std::ranges::all_of(name, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               c == '_' || c == '-';
      });
  return echoed ? fmt::format("\"{}\"", name) : "whose name is not shown";
}

// Sees every event of the parser, because a parsed object no longer tells that a key came twice.
class ShapeCheck {
 public:
  bool operator()(json::parse_event_t event, const json& parsed) {
    if (problem_) return false;
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        if (keys_.size() == kMaximumDepth) problem_ = "the request is nested too deep";
        keys_.emplace_back();
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        keys_.pop_back();
        break;
      case json::parse_event_t::key:
        if (const auto& name = parsed.get_ref<const std::string&>();
            !keys_.back().insert(name).second) {
          problem_ = fmt::format("a field comes twice: {}", Quoted(name));
        }
        break;
      case json::parse_event_t::value:
        break;
    }
    return !problem_;
  }
  [[nodiscard]] const Problem& problem() const { return problem_; }

 private:
  std::vector<std::set<std::string>> keys_;  // of each open object or array
  Problem problem_;
};

std::expected<json, std::string> ParseStrictly(std::string_view text) {
  // The library takes a NUL for the end of the text and would not look at what follows.
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    return std::unexpected(fmt::format("malformed JSON at byte {}", nul + 1));
  }
  ShapeCheck shape;
  try {
    json document = json::parse(
        text.begin(), text.end(),
        [&shape](int, json::parse_event_t event, json& parsed) { return shape(event, parsed); });
    if (shape.problem()) return std::unexpected(*shape.problem());
    return document;
  } catch (const json::parse_error& error) {
    // Not its own words: they quote the text.
    return std::unexpected(fmt::format("malformed JSON at byte {}", error.byte));
  } catch (const json::exception&) {
    return std::unexpected("malformed JSON: a number is too large");
  }
}

Problem TakeInteger(const json& value, std::string_view field, std::int64_t least,
                    std::int64_t most, std::int64_t& out) {
  // The library keeps integers above the signed range apart, and larger ones as doubles.
  if (value.is_number_integer() &&
      (!value.is_number_unsigned() || value.get<std::uint64_t>() <= kMaximumAmount)) {
    out = value.get<std::int64_t>();
    if (out >= least && out <= most) return {};
  }
  return fmt::format("\"{}\" is a whole number from {} to {}", field, least, most);
}

Problem TakeText(const json& value, std::string_view field, std::string& out) {
  if (!value.is_string()) return fmt::format("\"{}\" is a text", field);
  out = value.get<std::string>();
  if (out.empty()) return fmt::format("\"{}\" is not empty", field);
  return {};
}

// Takes one field after the other into a request.
class Reader {
 public:
  Reader(const EvaluateJsonOptions& options, const Edge& edge) : options_(options), edge_(edge) {}

  std::expected<EvaluateJson, std::string> Read(const json& document) {
    if (!document.is_object()) return std::unexpected("a request is a JSON object");
    for (const auto& [name, value] : document.items()) {
      const auto* field = Find(name);
      if (field == nullptr) return std::unexpected("unknown field " + Quoted(name));
      if (Problem problem = (this->*field->take)(value)) return std::unexpected(*problem);
    }
    if (result_.request.policies.empty() == result_.request.operation.empty()) {
      return std::unexpected(R"(a request has either "policies" or "operation")");
    }
    if (!has_subject_) return std::unexpected(R"(a request has a "subject")");
    if (options_.takes_now && !result_.now) return std::unexpected(R"(a request has "now_ms")");
    return std::move(result_);
  }

 private:
  struct Field {
    std::string_view name;
    Problem (Reader::*take)(const json&);
    bool EvaluateJsonOptions::* option = nullptr;  // the field exists only with it
  };
  static const std::array<Field, 8> kFields;

  [[nodiscard]] const Field* Find(std::string_view name) const {
    const auto* const field = std::ranges::find(kFields, name, &Field::name);
    if (field == kFields.end()) return nullptr;
    return field->option == nullptr || options_.*(field->option) ? field : nullptr;
  }

  Problem TakePolicies(const json& value) {
    if (!value.is_array() || value.empty() || value.size() > Plan::kMaximumPolicies) {
      return fmt::format("\"policies\" is a list of 1 to {} ids", Plan::kMaximumPolicies);
    }
    auto& policies = result_.request.policies;
    for (const json& element : value) {
      std::string id;
      if (Problem problem = TakeText(element, "policies", id)) return problem;
      if (std::ranges::find(policies, id) != policies.end()) {
        return "\"policies\" names a policy twice";
      }
      policies.push_back(std::move(id));
    }
    return {};
  }

  Problem TakeOperation(const json& value) {
    return TakeText(value, "operation", result_.request.operation);
  }

  Problem TakeSubject(const json& value) {
    IdentityKind kind = IdentityKind::kOpaque;
    const json* raw = &value;
    if (value.is_object()) {
      if (value.size() != 2 || !value.contains("kind") || !value.contains("value") ||
          !value["kind"].is_string()) {
        return R"("subject" is a text or has "kind" and "value")";
      }
      const auto named = KindNamed(value["kind"].get_ref<const std::string&>());
      if (!named) return R"("subject.kind" is principal, api-key, client-ip, opaque or anonymous)";
      kind = *named;
      raw = &value["value"];
    }
    if (!raw->is_string()) return R"("subject" is a text or has "kind" and "value")";
    auto identity = edge_.IdentityFrom(kind, raw->get_ref<const std::string&>());
    if (!identity) return "\"subject\": " + identity.error();
    result_.request.identity = *std::move(identity);
    result_.request.kind = kind;
    has_subject_ = true;
    return {};
  }

  Problem TakeCost(const json& value) {
    return TakeInteger(value, "cost", 1, kMaximumAmount, result_.request.cost.emplace());
  }

  Problem TakeEvaluationId(const json& value) {
    std::string& id = result_.request.evaluation_id.emplace();
    if (Problem problem = TakeText(value, "evaluation_id", id)) return problem;
    if (const auto checked = EvaluationIdFromCaller(id); !checked) {
      return "\"evaluation_id\": " + checked.error();
    }
    return {};
  }

  Problem TakeBudget(const json& value) {
    std::int64_t budget = 0;
    if (Problem problem = TakeInteger(value, "budget_ms", 1, kMaximumBudgetMs, budget)) {
      return problem;
    }
    result_.request.budget = Milliseconds{budget};
    return {};
  }

  Problem TakeMode(const json& value) {
    if (value != "evaluate" && value != "peek") return R"("mode" is "evaluate" or "peek")";
    result_.request.mode = value == "peek" ? Mode::kPeek : Mode::kEvaluate;
    return {};
  }

  Problem TakeNow(const json& value) {
    std::int64_t now = 0;
    if (Problem problem = TakeInteger(value, "now_ms", 0, kMaximumAmount, now)) return problem;
    result_.now = WallTime{Milliseconds{now}};
    return {};
  }

  static std::optional<IdentityKind> KindNamed(std::string_view name) {
    for (std::size_t i = 0; i < kIdentityKinds; ++i) {
      const auto kind = static_cast<IdentityKind>(i);
      if (Name(kind) == name) return kind;
    }
    return std::nullopt;
  }

  const EvaluateJsonOptions& options_;
  const Edge& edge_;
  EvaluateJson result_;
  bool has_subject_ = false;
};

constexpr std::array<Reader::Field, 8> Reader::kFields{{
    {"policies", &Reader::TakePolicies},
    {"operation", &Reader::TakeOperation},
    {"subject", &Reader::TakeSubject},
    {"cost", &Reader::TakeCost},
    {"evaluation_id", &Reader::TakeEvaluationId},
    {"budget_ms", &Reader::TakeBudget},
    {"mode", &Reader::TakeMode, &EvaluateJsonOptions::takes_mode},
    {"now_ms", &Reader::TakeNow, &EvaluateJsonOptions::takes_now},
}};

}  // namespace

std::expected<EvaluateJson, std::string> ParseEvaluateRequest(std::string_view json,
                                                              const EvaluateJsonOptions& options,
                                                              const Edge& edge) {
  const auto document = ParseStrictly(json);
  if (!document) return std::unexpected(document.error());
  return Reader{options, edge}.Read(*document);
}

}  // namespace sluice::edge
