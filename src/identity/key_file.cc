#include "src/identity/key_file.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <openssl/crypto.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::identity {
namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

std::unexpected<std::string> Refuse(const std::string& path, std::string_view why) {
  return std::unexpected("key file " + path + ": " + std::string(why));
}

std::unexpected<std::string> RefuseWithErrno(const std::string& path, std::string_view doing) {
  const std::string reason = std::strerror(errno);  // NOLINT(concurrency-mt-unsafe)
  return Refuse(path, std::string(doing) + ": " + reason);
}

std::string Octal(mode_t mode) {
  std::string digits;
  for (int shift = 9; shift >= 0; shift -= 3)
    digits += static_cast<char>('0' + ((mode >> shift) & 7));
  return digits;
}

// Why a file with this status is no key file.
std::optional<std::string> Objection(const std::string& path, const struct stat& status) {
  if (!S_ISREG(status.st_mode)) return "is not a regular file; name the file that holds the key";
  if ((status.st_mode & 077) != 0) {
    return "has mode " + Octal(status.st_mode) +
           ", so that others than its owner can use it; run: chmod 600 " + path;
  }
  const uid_t user = ::geteuid();
  if (status.st_uid != user && status.st_uid != 0) {
    return "belongs to user " + std::to_string(status.st_uid) +
           ", who can replace the key; run: chown " + std::to_string(user) + " " + path;
  }
  if (status.st_size > static_cast<off_t>(kMaximumKeyFileBytes)) {
    return "has " + std::to_string(status.st_size) + " bytes, a key file has at most " +
           std::to_string(kMaximumKeyFileBytes) + "; make one with: sluice keygen NEWFILE";
  }
  return std::nullopt;
}

// Reads to the end or until `bytes` is full; the number of bytes read, or nothing and errno.
std::optional<std::size_t> ReadAll(int fd, std::string& bytes) {
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t n = ::read(fd, bytes.data() + size, bytes.size() - size);
    if (n == 0) break;
    if (n < 0 && errno != EINTR) return std::nullopt;
    if (n > 0) size += static_cast<std::size_t>(n);
  }
  return size;
}

bool WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return ::fsync(fd) == 0;
}

}  // namespace

std::expected<PseudonymKey, std::string> ReadKeyFile(const std::string& path) {
  // Non-blocking, so that a pipe without a writer is refused below instead of waited for.
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.get() < 0) return RefuseWithErrno(path, "cannot be opened");
  struct stat status{};
  if (::fstat(file.get(), &status) != 0) return RefuseWithErrno(path, "cannot be examined");
  if (const auto objection = Objection(path, status)) return Refuse(path, *objection);

  // One byte more than expected, to notice a file that grows. Never reallocated: that would leave
  // a copy of the key in freed memory.
  const auto expected_size = static_cast<std::size_t>(status.st_size);
  std::string bytes(expected_size + 1, '\0');
  const std::optional<std::size_t> size = ReadAll(file.get(), bytes);
  if (size != expected_size) {
    auto refusal = size ? Refuse(path, "changed while it was read; try again")
                        : RefuseWithErrno(path, "cannot be read");
    OPENSSL_cleanse(bytes.data(), bytes.size());
    return refusal;
  }
  bytes.resize(expected_size);
  auto key = PseudonymKey::FromBytes(std::move(bytes));
  if (!key) return Refuse(path, key.error() + "; make one with: sluice keygen NEWFILE");
  return key;
}

std::expected<void, std::string> WriteKeyFile(const std::string& path) {
  const FileDescriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, S_IRUSR | S_IWUSR));
  if (file.get() < 0) {
    if (errno == EEXIST) {
      return Refuse(path,
                    "exists and is not overwritten: the pseudonyms made with it would be lost; "
                    "choose another name");
    }
    return RefuseWithErrno(path, "cannot be created");
  }
  std::array<char, PseudonymKey::kMinimumBytes> key{};
  if (::getentropy(key.data(), key.size()) != 0) std::abort();
  const bool written = WriteAll(file.get(), {key.data(), key.size()});
  OPENSSL_cleanse(key.data(), key.size());
  if (written) return {};
  auto refusal = RefuseWithErrno(path, "cannot be written");
  ::unlink(path.c_str());
  return refusal;
}

}  // namespace sluice::identity
