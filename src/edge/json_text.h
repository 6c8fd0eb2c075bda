// Writing JSON text by hand where the order of fields is fixed.
#pragma once

#include <string>
#include <string_view>

namespace sluice::edge {

/// Appends `text` as a JSON string, quotes included (RFC 8259). Bytes that are no UTF-8 become
/// U+FFFD.
void AppendJsonString(std::string_view text, std::string& out);

}  // namespace sluice::edge
