// Values that environment variables set, laid over a document before it is read.
#pragma once

#include <span>
#include <string>

#include "src/config/document.h"

namespace sluice::config {

/// Sets in `root`, which must be a map, what the variables of `environment` ("NAME=VALUE") name.
/// Variables without the prefix SLUICE_ are ignored.
///
/// SLUICE_HTTP__LISTEN names http.listen: `__` stands between levels, and each level picks the key
/// of the map that equals it without regard to case, where `_` also stands for `-` and `.`; a level
/// that picks no key is a new key in small letters. In a list, a level is an index from 0. Keys
/// that do not exist are reported later, by whoever reads the map.
///
/// A value in { } or [ ] is read as YAML and replaces the whole map or list; any other value is a
/// scalar, or a list whose elements stand between commas. With the suffix _FILE the variable names
/// a file that holds the value; a line break at its end does not count, and messages do not show
/// the value. Where the key itself ends in _file (redis.password_file, redis.tls.ca_file, …) the
/// variable of that name sets this key, and the file is read by whoever uses it.
///
/// Reported: a variable whose name is malformed, picks two keys or reaches into a scalar, two
/// variables for one path, and a file that cannot be read. Places are the variables' names.
void ApplyEnvironment(std::span<const std::string> environment, Node& root, Errors& errors);

}  // namespace sluice::config
