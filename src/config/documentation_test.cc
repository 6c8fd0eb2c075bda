// The configurations of the documentation and of deploy/ are loaded as they stand.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "src/config/test_support.h"

namespace sluice::config {
namespace {

const std::string kSource = SLUICE_SOURCE_DIR;

std::string Contents(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// The blocks of `page` that open with ``` and exactly `info`.
Lines Blocks(const std::string& page, const std::string& info) {
  const std::string opening = "\n```" + info + "\n";
  Lines blocks;
  std::size_t at = 0;
  while ((at = page.find(opening, at)) != std::string::npos) {
    at += opening.size();
    const std::size_t end = page.find("```", at);
    blocks.push_back(page.substr(at, end - at));
    at = end;
  }
  return blocks;
}

TEST(EveryPage, ShowsConfigurationsThatLoad) {
  std::vector<std::filesystem::path> pages{kSource + "/README.md"};
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kSource + "/docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  std::size_t loaded = 0;
  for (const auto& page : pages) {
    for (const std::string& block : Blocks(Contents(page), "yaml config")) {
      EXPECT_EQ(ErrorsOf(block), Lines{}) << page << "\n" << block;
      ++loaded;
    }
  }
  EXPECT_GE(loaded, 3u);  // those of docs/guide/configuration.md
}

TEST(ConfigurationGuide, NamesEveryKey) {
  const std::string page = Contents(kSource + "/docs/guide/configuration.md");
  // Every key that a configuration can have stands before a colon in an effective form; the page
  // has it in code, alone or at the end of a path. Names of policies are no keys.
  const std::set<std::string> names{"login", "api", "daily", "write", "1"};
  std::set<std::string> keys;
  for (const std::string& block : Blocks(page, "yaml config")) {
    const auto settings = Load(block, "guide", {});
    ASSERT_TRUE(settings);
    const std::string effective = Effective(*settings);
    for (std::size_t line = 0; line < effective.size(); line = effective.find('\n', line) + 1) {
      const std::size_t start = effective.find_first_not_of(" -", line);
      keys.insert(effective.substr(start, effective.find(':', start) - start));
    }
  }
  for (const std::string& key : keys) {
    if (names.contains(key)) continue;
    const bool is_named = page.find("`" + key + "`") != std::string::npos ||
                          page.find("`" + key + ".") != std::string::npos ||
                          page.find("." + key + "`") != std::string::npos;
    EXPECT_TRUE(is_named) << key;
  }
  EXPECT_GT(keys.size(), 55u);
}

TEST(ConfigurationGuide, ShowsTheErrorsThatComeOut) {
  const std::string page = Contents(kSource + "/docs/guide/configuration.md");
  const Lines refused = Blocks(page, "yaml");
  const Lines printed = Blocks(page, "text");
  ASSERT_EQ(refused.size(), 1u);
  ASSERT_EQ(printed.size(), 1u);
  const auto settings = Load(refused.front(), "sluice.yaml", {});
  ASSERT_FALSE(settings);
  std::string text;
  for (const Error& error : settings.error()) text += error.ToString() + "\n";
  EXPECT_EQ(text, printed.front());
}

TEST(Quickstart, Loads) {
  const auto settings = LoadFile(kSource + "/deploy/quickstart.yaml", {});
  ASSERT_TRUE(settings) << settings.error().front().ToString();
  EXPECT_EQ(settings->edge.policies.size(), 3u);
  EXPECT_EQ(settings->http.listen, ListenAddress(TcpAddress{"127.0.0.1", 8080}));
  EXPECT_EQ(settings->edge.identity.trusted_proxies, (Lines{"127.0.0.0/8", "::1/128"}));
}

}  // namespace
}  // namespace sluice::config
