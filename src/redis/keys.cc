#include "src/redis/keys.h"

namespace sluice::redis {

std::string KeyOf(std::string_view prefix, const Subject& subject, const Policy& policy) {
  std::string key;
  key.reserve(kMaximumKeyBytes);
  key += prefix;
  key += ":1:{";
  key += ClientPseudonym(subject);
  key += "}:";
  key += policy.counter_name();
  if (policy.scope() == Scope::kOperation && subject.operation != subject.client) {
    key += ':';
    key += ToBase64Url(subject.operation);
  }
  return key;
}

}  // namespace sluice::redis
