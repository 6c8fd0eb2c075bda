// The scripts and the engine in this process are one engine: whatever is asked, they answer alike
// in every field.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sluice/memory_limiter.h"

#include "src/limiter/decision.h"
#include "tests/redis/scripts/fixture.h"

namespace sluice::redis {
namespace {

constexpr int kWorlds = 500;
constexpr int kStepsPerWorld = 220;

// Small numbers, so that limits are reached, windows end and rings overflow within few steps; large
// ones, so that products come close to what a double holds.
class World {
 public:
  explicit World(std::uint64_t seed) : random_(seed) {
    const std::int64_t policies = Between(1, 4);
    for (int i = 0; i < policies; ++i) settings_.push_back(RandomPolicy(i));
    Configure();
  }

  /// A new configuration under the old names and algorithms, as somebody may write it while
  /// counters are held.
  void ChangeNumbers() {
    for (PolicySettings& settings : settings_) {
      const PolicySettings before = settings;
      do {
        settings = RandomPolicy(settings.id.back() - '0');
      } while (settings.algorithm.index() != before.algorithm.index());
      settings.scope = before.scope;
      settings.dedup = before.dedup;
    }
    Configure();
  }

  const Plan& RandomPlan() { return *plans_[Below(plans_.size())]; }

  std::int64_t Between(std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random_);
  }
  bool OneIn(std::int64_t n) { return Between(1, n) == 1; }

 private:
  std::size_t Below(std::size_t n) {
    return static_cast<std::size_t>(Between(0, static_cast<std::int64_t>(n) - 1));
  }

  PolicySettings RandomPolicy(int number) {
    PolicySettings settings{.id = "p" + std::to_string(number)};
    const bool large = OneIn(10);
    const Milliseconds span{large ? Between(1, 100'000'000) : Between(1, 400)};
    const std::int64_t limit = large ? Between(1, kMaximumAmount) : Between(0, 12);
    switch (Between(0, 2)) {
      case 0:
        settings.algorithm = FixedWindow{limit, span};
        break;
      case 1:
        settings.algorithm = SlidingCounter{std::min(limit, kMaximumAmount / span.count()), span};
        break;
      default:
        settings.algorithm =
            TokenBucket{limit, large ? limit / Between(1, 9) + 1 : Between(1, 5), span};
    }
    const Milliseconds regressions[] = {Milliseconds{0}, Milliseconds{5}, Milliseconds{100}};
    settings.maximum_clock_regression = regressions[Below(3)];
    settings.cleanup_grace = Milliseconds{Between(0, 50)};
    settings.dedup = {.enabled = !OneIn(5),
                      .ttl = Milliseconds{Between(1, 300)},
                      .max_entries = Between(1, 6),
                      .max_bytes = OneIn(2) ? 1024 : 64 * 1024};
    settings.scope = OneIn(2) ? Scope::kClient : Scope::kOperation;
    return settings;
  }

  // One to three policies in any order: plans share counters.
  void Configure() {
    std::vector<Policy> policies;
    for (const auto& settings : settings_) policies.push_back(Policy::Create(settings).value());
    plans_.clear();
    for (int i = 0; i < 4; ++i) {
      std::ranges::shuffle(policies, random_);
      const auto count = std::min<std::size_t>(policies.size(), 1 + Below(3));
      plans_.push_back(std::make_unique<Plan>(
          Plan::Create({policies.begin(), policies.begin() + static_cast<std::ptrdiff_t>(count)})
              .value()));
    }
  }

  std::mt19937_64 random_;
  std::vector<PolicySettings> settings_;
  std::vector<std::unique_ptr<Plan>> plans_;
};

std::string Told(const Outcome& outcome) {
  if (const auto* evaluated = std::get_if<Evaluated>(&outcome)) {
    std::string text = evaluated->allowed ? "allowed" : "denied";
    if (evaluated->replayed) text += " replayed";
    text += " leading " + std::to_string(evaluated->leading);
    for (const LimitAnswer& limit : evaluated->limits) {
      text += " [" + std::string(limit.policy) + (limit.allowed ? " yes " : " no ") +
              std::to_string(limit.remaining) + "/" + std::to_string(limit.limit) + " reset " +
              std::to_string(limit.reset_after.count()) + " retry " +
              (limit.retry_after ? std::to_string(limit.retry_after->count()) : "never") + "]";
    }
    return text;
  }
  return std::visit(
      []<class Kind>(const Kind& kind) -> std::string {
        if constexpr (std::is_same_v<Kind, Evaluated>) {
          return "";
        } else if constexpr (std::is_same_v<Kind, Incompatible>) {
          return std::string(Name(kind.reason));
        } else {
          return std::string(Name(kind.category));
        }
      },
      outcome);
}

class Differential : public ScriptsTest {
 protected:
  // Physical expiry follows other clocks than the evaluations here.
  Differential() { options_.minimum_ttl = std::chrono::minutes{10}; }

  void RunWorld(std::uint64_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(seed);
    const auto memory = MakeMemoryLimiter({.minimum_ttl = std::chrono::minutes{10}});
    for (int step = 0; step < kStepsPerWorld; ++step) {
      if (world.OneIn(100)) world.ChangeNumbers();
      clock_.SetWall(clock_.Now().wall + Step(world));
      const Plan& plan = world.RandomPlan();
      const auto batch = world.OneIn(8) ? world.Between(2, 8) : 1;
      const auto client = static_cast<std::uint64_t>(world.Between(1, 2));
      const auto operation = static_cast<std::uint64_t>(world.Between(0, 2));
      std::vector<Evaluation> evaluations;
      for (int i = 0; i < batch; ++i) {
        if (auto one = RandomEvaluation(world, plan, testing::SubjectNumber(client, operation))) {
          evaluations.push_back(*std::move(one));
        }
      }
      if (evaluations.empty()) continue;
      std::vector<Gathering::Item> items;
      for (const Evaluation& one : evaluations) items.push_back({.evaluation = &one});
      const std::vector<Outcome> outcomes = client_.Evaluate(options_, items);
      ASSERT_EQ(outcomes.size(), evaluations.size());
      for (std::size_t i = 0; i < outcomes.size(); ++i, ++steps_) {
        memory->Evaluate(evaluations[i], [&](Outcome expected) {
          // Texts for people as well.
          ASSERT_EQ(Told(outcomes[i]), Told(expected)) << "step " << step << ", " << i;
          ASSERT_TRUE(outcomes[i] == expected) << Told(expected);
          replayed_ += Told(expected).find("replayed") != std::string::npos;
          denied_ += Told(expected).starts_with("denied");
          others_ += !std::holds_alternative<Evaluated>(expected);
        });
        if (HasFatalFailure()) return;
      }
    }
  }

  static Milliseconds Step(World& world) {
    if (world.OneIn(3)) return Milliseconds{0};
    if (world.OneIn(8)) return -Milliseconds{world.Between(1, 110)};
    if (world.OneIn(30)) return Milliseconds{world.Between(1, 300'000'000)};
    return Milliseconds{world.Between(1, 60)};
  }

  std::optional<Evaluation> RandomEvaluation(World& world, const Plan& plan, Subject subject) {
    std::int64_t most = kMaximumAmount;
    for (const Policy& policy : plan.policies()) most = std::min(most, policy.maximum_cost());
    const bool brought = world.OneIn(2);
    const std::int64_t usual = brought && !world.OneIn(6) ? 1 : std::min<std::int64_t>(most, 3);
    const std::int64_t cost = world.Between(1, world.OneIn(20) ? most : usual);
    Evaluation evaluation =
        EvaluationOf(plan, {.subject = subject,
                            .cost = cost,
                            .id = brought ? "id " + std::to_string(world.Between(1, 5)) : "",
                            .mode = world.OneIn(6) ? Mode::kPeek : Mode::kEvaluate});
    evaluation.now.wall += Milliseconds{world.OneIn(4) ? world.Between(0, 3) : 0};
    if (limiter::Refusal(plan, cost)) return std::nullopt;
    return evaluation;
  }

  // Every value that the scripts ever wrote is decimal or a record's text, and every key has a TTL.
  void CheckStore() {
    static const std::regex kKey(
        "t[0-9]+(-[0-9]+)?:1:\\{v1:[A-Za-z0-9_-]{22}\\}:p[0-9]@1"
        "(:[A-Za-z0-9_-]{22})?");
    static const std::regex kDecimal("-?[0-9]+");
    static const std::regex kOwn("[0-9A-Z]{13} [0-9]+ [0-9:,-]+");
    static const std::regex kBatch("[0-9]+ [0-9]+ [0-9:-]+ [0-9A-Z:,]+");
    static const std::regex kRecord("[0-9]+ [0-9]+ [0-9]+ [0-9]+ [0-9:,]+ [0-9:,-]+");
    const Reply keys = client_.Command({"KEYS", options_.prefix + ":*"});
    for (const Reply& key : keys.elements) {
      EXPECT_TRUE(std::regex_match(key.text, kKey)) << key.text;
      EXPECT_LE(key.text.size(), kMaximumKeyBytes);
      EXPECT_GT(TtlOf(key.text), 0) << key.text;
      const Reply hash = client_.Command({"HGETALL", key.text});
      std::size_t own = 0;
      std::size_t records = 0;
      for (std::size_t i = 0; i < hash.elements.size(); i += 2) {
        const std::string& field = hash.elements[i].text;
        const std::string& value = hash.elements[i + 1].text;
        const bool is_own = field.starts_with("own");
        const bool is_record = field.starts_with("id:");
        own += is_own;
        records += is_record;
        EXPECT_TRUE(std::regex_match(value, is_own                       ? kOwn
                                            : is_record                  ? kRecord
                                            : field.starts_with("batch") ? kBatch
                                                                         : kDecimal))
            << field << " = " << value;
      }
      EXPECT_LE(own, 32U);
      EXPECT_LE(records, 2U * 6U + 8U);
    }
  }

  long steps_ = 0;
  long replayed_ = 0;
  long denied_ = 0;
  long others_ = 0;
};

TEST_F(Differential, ScriptsAnswerAsTheEngineInThisProcess) {
  const char* given = std::getenv("SLUICE_SEED");
  const std::uint64_t seed = given != nullptr ? std::stoull(given) : std::random_device{}();
  std::printf("SLUICE_SEED=%llu\n", static_cast<unsigned long long>(seed));
  const std::string prefix = options_.prefix;
  for (std::uint64_t world = 0; world < kWorlds && !HasFailure(); ++world) {
    options_.prefix = prefix + "-" + std::to_string(world);
    RunWorld(seed + world);
    if (world % 20 == 0) CheckStore();
  }
  std::printf("%ld evaluations: %ld denied, %ld replayed, %ld not evaluated\n", steps_, denied_,
              replayed_, others_);
  if (HasFailure()) return;
  EXPECT_GE(steps_, 100'000);
  EXPECT_GE(denied_, 1'000);
  EXPECT_GE(replayed_, 2'000);
  EXPECT_GE(others_, 100);
}

}  // namespace
}  // namespace sluice::redis
