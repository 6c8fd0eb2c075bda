#include "src/identity/key_file.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::identity {
namespace {

namespace fs = std::filesystem;

const std::string kSecret = "0123456789abcdef0123456789abcdef";

class KeyFile : public ::testing::Test {
 public:
  KeyFile() {
    std::string pattern = (fs::temp_directory_path() / "sluice-key-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~KeyFile() override { fs::remove_all(directory_); }

 protected:
  std::string Path(std::string_view name = "pseudonym.key") const {
    return (directory_ / name).string();
  }

  std::string Write(const std::string& bytes, mode_t mode = 0600) const {
    const std::string path = Path();
    std::ofstream(path, std::ios::binary) << bytes;
    chmod(path.c_str(), mode);
    return path;
  }

  // What is wrong with the key file at `path`: must name it and must not tell the secret.
  static std::string Refusal(const std::string& path) {
    const auto key = ReadKeyFile(path);
    if (key) return "read";
    EXPECT_NE(key.error().find(path), std::string::npos) << key.error();
    EXPECT_EQ(key.error().find(kSecret.substr(0, 8)), std::string::npos) << key.error();
    EXPECT_EQ(key.error().find('\n'), std::string::npos) << key.error();
    return key.error();
  }

  fs::path directory_;
};

Subject AliceWith(const PseudonymKey& key) {
  RawIdentity identity;
  identity.Add(IdentityKind::kOpaque, "alice");
  return Pseudonymizer(1, key).SubjectOf(std::move(identity), IdentityKind::kOpaque, "");
}

TEST_F(KeyFile, IsItsBytesExactly) {
  for (const std::string& bytes : {kSecret, kSecret + "\n", kSecret + std::string("\0\xff\r\n", 4),
                                   std::string(65'536, 'k')}) {
    const auto key = ReadKeyFile(Write(bytes));
    ASSERT_TRUE(key) << key.error();
    EXPECT_EQ(AliceWith(*key), AliceWith(PseudonymKey::FromBytes(bytes).value()));
  }
}

TEST_F(KeyFile, ModesThatLetOthersInAreRefused) {
  for (const mode_t mode : {0644u, 0640u, 0604u, 0620u, 0601u, 0610u, 0666u, 0777u}) {
    const std::string path = Write(kSecret, mode);
    const std::string refusal = Refusal(path);
    EXPECT_NE(refusal.find("run: chmod 600 " + path), std::string::npos) << refusal;
  }
  EXPECT_NE(Refusal(Write(kSecret, 0640)).find("has mode 0640"), std::string::npos);
  for (const mode_t mode : {0600u, 0400u, 0700u}) EXPECT_EQ(Refusal(Write(kSecret, mode)), "read");
}

TEST_F(KeyFile, SizesOutOfBoundsAreRefused) {
  EXPECT_NE(Refusal(Write("")).find("at least 32 bytes, this one has 0"), std::string::npos);
  EXPECT_NE(Refusal(Write(kSecret.substr(1))).find("at least 32 bytes, this one has 31"),
            std::string::npos);
  EXPECT_NE(Refusal(Write(std::string(65'537, 'k'))).find("has 65537 bytes"), std::string::npos);
}

TEST_F(KeyFile, OnlyRegularFilesAreRead) {
  EXPECT_NE(Refusal(directory_.string()).find("not a regular file"), std::string::npos);
  EXPECT_NE(Refusal("/dev/zero").find("not a regular file"), std::string::npos);
  // A pipe without a writer is refused, not waited for.
  ASSERT_EQ(mkfifo(Path("pipe").c_str(), 0600), 0);
  EXPECT_NE(Refusal(Path("pipe")).find("not a regular file"), std::string::npos);
  fs::create_symlink(Path("pipe"), Path("link-to-pipe"));
  EXPECT_NE(Refusal(Path("link-to-pipe")).find("not a regular file"), std::string::npos);
  EXPECT_NE(Refusal(Path("missing")).find("No such file"), std::string::npos);
}

// Mounted secrets are symbolic links; the file at the end is what is checked.
TEST_F(KeyFile, LinksToKeyFilesAreFollowed) {
  fs::create_symlink(Write(kSecret), Path("link"));
  EXPECT_EQ(Refusal(Path("link")), "read");
  Write(kSecret, 0644);
  EXPECT_NE(Refusal(Path("link")).find("has mode 0644"), std::string::npos);
}

TEST_F(KeyFile, AnotherUsersFileIsRefused) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file away";
  const std::string path = Write(kSecret);
  ASSERT_EQ(chown(path.c_str(), 12345, static_cast<gid_t>(-1)), 0);
  const std::string refusal = Refusal(path);
  EXPECT_NE(refusal.find("belongs to user 12345"), std::string::npos) << refusal;
  EXPECT_NE(refusal.find("run: chown 0 " + path), std::string::npos) << refusal;
}

TEST_F(KeyFile, WrittenOnesAreReadAndDiffer) {
  ASSERT_TRUE(WriteKeyFile(Path("one")));
  ASSERT_TRUE(WriteKeyFile(Path("other")));
  struct stat status{};
  ASSERT_EQ(stat(Path("one").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  EXPECT_EQ(status.st_size, 32);
  const auto one = ReadKeyFile(Path("one"));
  const auto other = ReadKeyFile(Path("other"));
  ASSERT_TRUE(one && other);
  EXPECT_NE(AliceWith(*one), AliceWith(*other));
}

TEST_F(KeyFile, WritingNeverOverwrites) {
  const std::string path = Write(kSecret);
  const auto again = WriteKeyFile(path);
  ASSERT_FALSE(again);
  EXPECT_NE(again.error().find(path + ": exists and is not overwritten"), std::string::npos)
      << again.error();
  EXPECT_EQ(AliceWith(*ReadKeyFile(path)), AliceWith(PseudonymKey::FromBytes(kSecret).value()));

  // not even through a link that leads nowhere yet
  fs::create_symlink(Path("target"), Path("link"));
  EXPECT_FALSE(WriteKeyFile(Path("link")));
  EXPECT_FALSE(fs::exists(Path("target")));

  const auto nowhere = WriteKeyFile(Path("no-such-directory/key"));
  ASSERT_FALSE(nowhere);
  EXPECT_NE(nowhere.error().find("cannot be created: No such file"), std::string::npos)
      << nowhere.error();
}

}  // namespace
}  // namespace sluice::identity
