#include "src/config/file.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>

namespace sluice::config {

std::expected<std::string, std::string> ReadFile(const std::string& path, std::size_t most) {
  const auto failure = [] { return std::unexpected(std::generic_category().message(errno)); };
  const auto close = [](std::FILE* stream) { std::fclose(stream); };
  const std::unique_ptr<std::FILE, decltype(close)> file(std::fopen(path.c_str(), "rbe"), close);
  if (!file) return failure();
  std::string bytes(most + 1, '\0');
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file.get()));
  if (std::ferror(file.get()) != 0) return failure();
  return bytes;
}

}  // namespace sluice::config
