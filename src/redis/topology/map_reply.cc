#include "src/redis/topology/map_reply.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "src/redis/reply_error.h"

namespace sluice::redis {
namespace {

std::unexpected<Outcome> Unusable(std::string detail) {
  return std::unexpected<Outcome>(
      Unavailable{Unavailable::Category::kUnavailableBeforeSend, std::move(detail)});
}

std::unexpected<Outcome> WrongServer(std::string detail) {
  return std::unexpected<Outcome>(
      Incompatible{Incompatible::Reason::kServerIncompatible, std::move(detail)});
}

// The value under `field` of a reply that is a list of names and values; a nil if it has none.
const Reply& Value(const Reply& map, std::string_view field) {
  static const Reply kNone;
  for (std::size_t i = 0; i + 1 < map.elements.size(); i += 2) {
    if (map.elements[i].text == field) return map.elements[i + 1];
  }
  return kNone;
}

std::optional<Address> AddressOf(const Reply& host, const Reply& port, const Address& asked) {
  const bool is_port =
      port.kind == Reply::Kind::kInteger && port.integer >= 1 && port.integer <= 65'535;
  if (!is_port || host.text == "?") return std::nullopt;
  Address address{.host = host.text.empty() ? asked.host : host.text,
                  .port = std::to_string(port.integer)};
  if (address.host.empty()) return std::nullopt;  // asked over a unix socket
  return address;
}

struct Range {
  Slot first;
  Slot last;
};

std::optional<Range> RangeOf(const Reply& first, const Reply& last) {
  const bool is_range = first.kind == Reply::Kind::kInteger && last.kind == first.kind &&
                        0 <= first.integer && first.integer <= last.integer &&
                        last.integer < kSlots;
  if (!is_range) return std::nullopt;
  return Range{static_cast<Slot>(first.integer), static_cast<Slot>(last.integer)};
}

// The refusal that an error reply, or one that is no list, means.
std::optional<Outcome> Refusal(const Reply& reply, std::string_view command) {
  if (reply.kind == Reply::Kind::kArray) return std::nullopt;
  if (reply.kind != Reply::Kind::kError) {
    return Unusable(fmt::format("{}: the server's reply is no list", command)).error();
  }
  if (reply.text.contains("cluster support disabled")) {
    return WrongServer("standalone server, cluster configured").error();
  }
  return JudgeError(reply.text, command).outcome;
}

std::expected<SlotMap, Outcome> IfNotEmpty(SlotMap map, std::string_view command) {
  if (map.IsEmpty()) return Unusable(fmt::format("{}: nobody serves a slot", command));
  return map;
}

}  // namespace

std::expected<SlotMap, Outcome> ReadShards(const Reply& reply, const Address& asked, bool tls) {
  constexpr std::string_view kCommand = "CLUSTER SHARDS";
  if (auto refusal = Refusal(reply, kCommand)) return std::unexpected(*std::move(refusal));
  SlotMap map;
  for (const Reply& shard : reply.elements) {
    // A failed primary may stand beside the one that took its place.
    std::optional<Address> primary;
    for (const Reply& node : Value(shard, "nodes").elements) {
      const auto address =
          AddressOf(Value(node, "endpoint"), Value(node, tls ? "tls-port" : "port"), asked);
      if (!address) continue;
      const bool is_healthy = Value(node, "health").text == "online";
      if (Value(node, "role").text != "master") {
        if (is_healthy) map.AddReplica(*address);
      } else if (is_healthy || !primary) {
        primary = address;
        if (is_healthy) map.AddPrimary(*address);
      }
    }
    if (!primary) continue;
    const std::vector<Reply>& slots = Value(shard, "slots").elements;
    for (std::size_t i = 0; i + 1 < slots.size(); i += 2) {
      const auto range = RangeOf(slots[i], slots[i + 1]);
      if (!range) return Unusable(fmt::format("{}: a range of slots is none", kCommand));
      map.Assign(range->first, range->last, *primary);
    }
  }
  return IfNotEmpty(std::move(map), kCommand);
}

std::expected<SlotMap, Outcome> ReadSlots(const Reply& reply, const Address& asked) {
  constexpr std::string_view kCommand = "CLUSTER SLOTS";
  if (auto refusal = Refusal(reply, kCommand)) return std::unexpected(*std::move(refusal));
  SlotMap map;
  for (const Reply& entry : reply.elements) {
    const std::vector<Reply>& parts = entry.elements;  // first, last, the primary, its replicas
    const auto range = parts.size() < 3 ? std::nullopt : RangeOf(parts[0], parts[1]);
    if (!range) return Unusable(fmt::format("{}: a range of slots is none", kCommand));
    for (std::size_t i = 2; i < parts.size(); ++i) {
      const std::vector<Reply>& node = parts[i].elements;
      const auto address = node.size() < 2 ? std::nullopt : AddressOf(node[0], node[1], asked);
      if (!address) continue;
      i == 2 ? map.Assign(range->first, range->last, *address) : map.AddReplica(*address);
    }
  }
  return IfNotEmpty(std::move(map), kCommand);
}

std::expected<SlotMap, Outcome> ReadPrimary(const Reply& reply, const std::string& master) {
  if (reply.kind == Reply::Kind::kNil) {
    return WrongServer(fmt::format("the sentinel knows no master named \"{}\"", master));
  }
  constexpr std::string_view kCommand = "SENTINEL GET-MASTER-ADDR-BY-NAME";
  if (auto refusal = Refusal(reply, kCommand)) return std::unexpected(*std::move(refusal));
  if (reply.elements.size() != 2) return Unusable("the sentinel's reply is no address");
  const auto address = ParseAddress(
      ToString(Address{.host = reply.elements[0].text, .port = reply.elements[1].text}));
  if (!address) return Unusable("the sentinel's reply is no address");
  return SlotMap(*address);
}

}  // namespace sluice::redis
