// One spelling for each path, so that no other spelling of it escapes an operation.
#pragma once

#include <expected>
#include <string>
#include <string_view>

namespace sluice::edge {

/// What a request target asks for. The views point into the target, into the scratch string or to
/// literals.
struct Target {
  /// Normalised: "/" and the non-empty segments between single slashes, or "*" where the target
  /// names no path ("OPTIONS *").
  std::string_view path;
  /// Host and port of an absolute URI, which then overrule the Host field (RFC 9112, 3.2.2); else
  /// empty.
  std::string_view authority;
};

/// Reduces a request target in origin form ("/p?q"), absolute form ("http://h/p") or asterisk form
/// ("*") to its path:
///
/// - query and fragment are dropped;
/// - escaped unreserved characters are decoded ("%6c" is "l"), other escapes stay with upper-case
///   digits ("%2f" is "%2F" and no separator), and bytes that a URI may only carry escaped (such as
///   non-ASCII and '|') become escaped;
/// - "//" counts as "/", then dot segments go, escaped ones too; ".." at the root stays there;
/// - a trailing slash is ignored; the root is "/". Letter case is kept.
///
/// The path of the result normalises to itself. Linear in the target. `scratch` is written only if
/// the target is not normal already and must live as long as the result.
///
/// Fails with one sentence if the target has another form, a broken escape, a space or a control
/// byte. The sentence repeats nothing of the target.
[[nodiscard]] std::expected<Target, std::string_view> NormaliseTarget(std::string_view target,
                                                                      std::string& scratch);

/// Whether `target` is in authority form ("example.com:443"), which names a server and no path. It
/// has a meaning with CONNECT only.
[[nodiscard]] bool IsAuthorityForm(std::string_view target);

/// Appends one segment's canonical spelling: the rules for escapes above. `segment` has no slash.
/// Fails with one sentence, having appended a part.
[[nodiscard]] std::expected<void, std::string_view> AppendSegment(std::string_view segment,
                                                                  std::string& out);

}  // namespace sluice::edge
