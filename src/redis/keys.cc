#include "src/redis/keys.h"

namespace sluice::redis {
namespace {

// What the keys of one client begin with.
std::string StemOf(std::string_view prefix, const Subject& subject) {
  std::string key;
  key.reserve(kMaximumKeyBytes);
  key += prefix;
  key += ":1:{";
  key += ClientPseudonym(subject);
  key += "}:";
  return key;
}

}  // namespace

std::string KeyOf(std::string_view prefix, const Subject& subject, const Policy& policy) {
  std::string key = StemOf(prefix, subject);
  key += policy.counter_name();
  if (policy.scope() == Scope::kOperation && subject.operation != subject.client) {
    key += ':';
    key += ToBase64Url(subject.operation);
  }
  return key;
}

std::string AbsentKey(std::string_view prefix) {
  return StemOf(prefix, {.key_version = 1}) + "absent";
}

}  // namespace sluice::redis
