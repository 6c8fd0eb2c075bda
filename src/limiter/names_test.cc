#include <gtest/gtest.h>

#include "sluice/limiter.h"
#include "sluice/outcome.h"
#include "sluice/subject.h"

namespace sluice {
namespace {

TEST(Digest, IsPrintedAsUnpaddedBase64Url) {
  Digest digest;
  EXPECT_EQ(ToBase64Url(digest), "AAAAAAAAAAAAAAAAAAAAAA");
  digest.bytes.fill(0xff);
  EXPECT_EQ(ToBase64Url(digest), "_____________________w");
  for (std::size_t i = 0; i < 16; ++i) digest.bytes[i] = static_cast<std::uint8_t>(i * 17);
  EXPECT_EQ(ToBase64Url(digest), "ABEiM0RVZneImaq7zN3u_w");  // python3: base64.urlsafe_b64encode
}

TEST(Subject, PseudonymCarriesTheKeyVersion) {
  Subject subject;
  subject.key_version = 7;
  EXPECT_EQ(ClientPseudonym(subject), "v7:AAAAAAAAAAAAAAAAAAAAAA");
}

TEST(EvaluationId, IsPrintedAsUlid) {
  std::array<std::uint8_t, 16> bytes{};
  EXPECT_EQ(EvaluationId::FromBytes(bytes).ToString(), "00000000000000000000000000");
  bytes.fill(0xff);
  EXPECT_EQ(EvaluationId::FromBytes(bytes).ToString(), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
  bytes = {0x01, 0x56, 0x3e, 0x3a, 0xb5, 0xd3};  // the time of the ULID specification's example
  EXPECT_EQ(EvaluationId::FromBytes(bytes).ToString().substr(0, 10), "01ARZ3NDEK");
}

TEST(EvaluationId, KnowsWhoMadeIt) {
  EXPECT_TRUE(EvaluationId::FromCaller("retry-1").is_from_caller());
  EXPECT_EQ(EvaluationId::FromCaller("retry-1").ToString(), "retry-1");
  EXPECT_FALSE(EvaluationId::FromBytes({}).is_from_caller());
}

TEST(Outcome, OnlyAnEvaluatedYesIsAllowed) {
  EXPECT_TRUE(IsAllowed(Evaluated{.allowed = true}));
  EXPECT_FALSE(IsAllowed(Evaluated{.allowed = false}));
  EXPECT_FALSE(IsAllowed(Unavailable{}));
  EXPECT_FALSE(IsAllowed(Indeterminate{}));
  EXPECT_FALSE(IsAllowed(Incompatible{}));
}

TEST(Outcome, UsesTheWordsOfTheContract) {
  EXPECT_EQ(Name(Certainty::kApproximateAlgorithm), "approximate-algorithm");
  EXPECT_EQ(Name(Unavailable::Category::kAdmissionRejected), "admission-rejected");
  EXPECT_EQ(Name(Unavailable::Category::kUnavailableBeforeSend), "unavailable-before-send");
  EXPECT_EQ(Name(Unavailable::Category::kNoMutationConfirmed), "no-mutation-confirmed");
  EXPECT_EQ(Name(Unavailable::Category::kClockUnsafe), "clock-unsafe");
  EXPECT_EQ(Name(Indeterminate::Category::kDeadlinePassed), "deadline-passed");
  EXPECT_EQ(Name(Indeterminate::Category::kResponseLost), "response-lost");
  EXPECT_EQ(Name(Indeterminate::Category::kReplyMalformed), "reply-malformed");
  EXPECT_EQ(Name(Indeterminate::Category::kScriptAborted), "script-aborted");
  EXPECT_EQ(Name(Incompatible::Reason::kUnknownPolicy), "unknown-policy");
  EXPECT_EQ(Name(Incompatible::Reason::kCostExceedsMaximum), "cost-exceeds-maximum");
  EXPECT_EQ(Name(Incompatible::Reason::kEvaluationIdConflict), "evaluation-id-conflict");
  EXPECT_EQ(Name(Incompatible::Reason::kPermissionDenied), "permission-denied");
  EXPECT_EQ(Name(Incompatible::Reason::kServerIncompatible), "server-incompatible");
  EXPECT_EQ(Name(Incompatible::Reason::kStateUnreadable), "state-unreadable");
}

}  // namespace
}  // namespace sluice
