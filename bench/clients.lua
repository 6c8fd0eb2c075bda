-- wrk: a thousand clients behind a proxy, one after another.
local requests = {}
for i = 0, 999 do
  requests[i] = wrk.format("GET", "/check", {
    ["Host"] = "edge.example",
    ["X-Forwarded-For"] = "203.0." .. math.floor(i / 250) .. "." .. (i % 250 + 1),
    ["X-Original-Method"] = "GET",
    ["X-Original-URI"] = "/items/" .. i,
  })
end
local next = 0
request = function()
  next = (next + 1) % 1000
  return requests[next]
end
