// What must not compile about secrets, as far as a compiled test can say it. compile_test/ really
// tries to print them.
#include <ostream>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ostream.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sluice/pseudonymizer.h"
#include "sluice/raw_identity.h"

namespace sluice {
namespace {

template <typename T>
concept Streamable = requires(std::ostream& out, const T& value) { out << value; };
template <typename T>
concept Formattable = fmt::is_formattable<T>::value;
template <typename T>
concept Jsonable =
    std::is_constructible_v<nlohmann::json, T> || std::is_constructible_v<nlohmann::json, T&> ||
    std::is_constructible_v<nlohmann::json, const T&>;

template <typename T>
constexpr bool kIsSilent =
    !Streamable<T> && !Formattable<T> && !Jsonable<T> && !std::is_convertible_v<T, std::string> &&
    !std::is_convertible_v<T, std::string_view>;

// The concepts see what can be printed.
static_assert(Streamable<std::string> && Formattable<std::string> && Jsonable<std::string>);
static_assert(!kIsSilent<std::string>);

template <typename T>
class Secret : public ::testing::Test {};
using Secrets = ::testing::Types<RawIdentity, Peer, PseudonymKey>;
TYPED_TEST_SUITE(Secret, Secrets);

TYPED_TEST(Secret, CannotBePrintedFormattedOrSerialised) {
  EXPECT_TRUE(kIsSilent<TypeParam>);
}

// A peer is copied freely: it is resolved once for each connection and kept beside it.
TEST(SecretOwnership, IdentitiesAndKeysAreMovedNeverCopied) {
  EXPECT_FALSE(std::is_copy_constructible_v<RawIdentity> || std::is_copy_assignable_v<RawIdentity>);
  EXPECT_FALSE(std::is_copy_constructible_v<PseudonymKey> ||
               std::is_copy_assignable_v<PseudonymKey>);
  EXPECT_TRUE(std::is_nothrow_move_constructible_v<RawIdentity>);
  EXPECT_TRUE(std::is_nothrow_move_constructible_v<PseudonymKey>);
}

}  // namespace
}  // namespace sluice
