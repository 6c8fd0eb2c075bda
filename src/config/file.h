// Reading a whole file, bounded.
#pragma once

#include <cstddef>
#include <expected>
#include <string>

namespace sluice::config {

/// The bytes of the file at `path`, at most `most` + 1 of them so that the caller sees an excess;
/// else the system's reason.
[[nodiscard]] std::expected<std::string, std::string> ReadFile(const std::string& path,
                                                               std::size_t most);

}  // namespace sluice::config
