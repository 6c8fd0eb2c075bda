#include <fmt/format.h>

#include "src/config/document.h"

namespace sluice::config {

std::string Error::ToString() const {
  if (key.empty()) return fmt::format("{}: {}", place, message);
  return fmt::format("{}: {}: {}", place, key, message);
}

void Errors::Add(Place place, std::string key, std::string message) {
  found_.emplace(std::move(place), Found{std::move(key), std::move(message)});
}

std::string Errors::Show(const Place& place) const {
  if (!place.variable.empty()) return place.variable;
  return fmt::format("{}:{}:{}", file_, place.line, place.column);
}

std::vector<Error> Errors::Sorted() const {
  std::vector<Error> errors;
  for (const auto& [place, found] : found_) {
    if (errors.size() == kMaximumShown) {
      errors.push_back(
          {file_, "", fmt::format("and {} more errors", found_.size() - kMaximumShown)});
      break;
    }
    errors.push_back({Show(place), found.key, found.message});
  }
  return errors;
}

}  // namespace sluice::config
