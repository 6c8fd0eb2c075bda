// Key files: the bytes of a PseudonymKey, and nobody else may read them.
#pragma once

#include <expected>
#include <string>

#include "sluice/pseudonymizer.h"

namespace sluice::identity {

/// The largest key file that is read.
inline constexpr std::size_t kMaximumKeyFileBytes = 64 * 1024;

/// The key in a file: all bytes of the file, exactly. Nothing is decoded and no newline is
/// stripped, so copies of a key are equal iff the files are.
///
/// Refused: what is not a regular file (or a symbolic link to one), what group or others may read
/// or write, what belongs to neither this process's user nor root, less than
/// PseudonymKey::kMinimumBytes or more than kMaximumKeyFileBytes. The error is one sentence that
/// names the file and the remedy, never the content. All checks are made on the opened file.
[[nodiscard]] std::expected<PseudonymKey, std::string> ReadKeyFile(const std::string& path);

/// Makes `path` a key file of 32 bytes from the operating system's random source that only its
/// owner may read and write. Refuses to touch what exists. The error is one sentence that names the
/// file.
[[nodiscard]] std::expected<void, std::string> WriteKeyFile(const std::string& path);

}  // namespace sluice::identity
