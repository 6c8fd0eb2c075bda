// The syntax of the RFC 7239 `Forwarded` field, read from its trustworthy end.
#pragma once

#include <optional>
#include <string_view>

#include "src/identity/ip_address.h"

namespace sluice::identity {

/// Removes and returns the last element of a field line; `rest` is what stands before its comma, or
/// nothing if there was none. Precondition: `rest` holds a line.
///
/// Commas within quoted strings separate nothing. The line is read backwards, so that a quote or a
/// backslash that a client sent never changes how the elements to its right are read, which its
/// proxies appended. On well-formed lines this is the same as reading forwards.
[[nodiscard]] std::string_view TakeLastElement(std::optional<std::string_view>& rest);

/// The address that an element's `for` parameter names. Nothing if the element is malformed, has no
/// or two `for`, or names no address ("unknown", "_obfuscated"). Values may be tokens or quoted
/// strings; blanks around parameters and unquoted colons and brackets are tolerated, because
/// proxies write them and they leave no doubt. Does not allocate.
[[nodiscard]] std::optional<IpAddress> AddressOfElement(std::string_view element);

}  // namespace sluice::identity
