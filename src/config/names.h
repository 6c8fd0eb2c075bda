// Checks of the names a configuration uses. Each gives nothing, or one sentence on what is wrong.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::config {

/// An id of an operation: [A-Za-z][A-Za-z0-9._-]{0,63}, as `Policy::Create` checks those of
/// policies.
[[nodiscard]] std::optional<std::string> CheckId(std::string_view id);
/// A method: a token (RFC 9110, 5.6.2) in capitals, since methods are case-sensitive.
[[nodiscard]] std::optional<std::string> CheckMethod(std::string_view method);
/// A header field's name: a token.
[[nodiscard]] std::optional<std::string> CheckFieldName(std::string_view name);

}  // namespace sluice::config
