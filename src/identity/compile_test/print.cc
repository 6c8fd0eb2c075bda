// Compiled once for each row of the table in CMakeLists.txt, which gives the header and the
// statement.
#include SLUICE_HEADER

#include "sluice/pseudonymizer.h"
#include "sluice/raw_identity.h"

void Print(const sluice::RawIdentity& identity, const sluice::Peer& peer,
           const sluice::PseudonymKey& key, sluice::IdentityKind kind) {
  (void)identity, (void)peer, (void)key, (void)kind;
  SLUICE_STATEMENT;
}
