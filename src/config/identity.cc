#include "src/config/chapters.h"
#include "src/config/names.h"

namespace sluice::config {

IdentitySettings ReadIdentity(const Field& field) {
  IdentitySettings identity;
  MapReader reader(field);
  reader.Optional("sources", ListOf{Choice<IdentityKind>{kSourceWords}}, identity.sources);
  reader.Optional("principal_header", Text{CheckFieldName}, identity.principal_header);
  reader.Optional("api_key_header", Text{CheckFieldName}, identity.api_key_header);
  reader.Optional("trusted_proxies", ListOf{Text{CheckNetwork}, true}, identity.trusted_proxies);
  reader.Optional("forwarded", Choice<Forwarded>{kForwardedWords}, identity.forwarded);
  reader.Optional("ipv6_prefix", Integer{1, 128}, identity.ipv6_prefix);
  reader.Optional("anonymous", Choice<Anonymous>{kAnonymousWords}, identity.anonymous);
  reader.Finish();
  return identity;
}

}  // namespace sluice::config
