-- What both drivers for one limit begin with: reads and checks the state. Leaves its fields as they are stored in
-- `stored`, and as numbers in written, a, b, c; a == nil if there is none. A template, see join.cmake.
local key, argv, number = KEYS[1], ARGV, tonumber
local stored = redis.pcall('HMGET', key, 'written', @READ@)
local written, a, b, c = stored[1], stored[2], stored[3], stored[4]
if written and a and b and c ~= false then
  written, a, b = number(written), number(a), number(b)
  if c then c = number(c) else c = 0 end
  if not (written and a and b and c) or written % 1 + a % 1 + b % 1 + c % 1 ~= 0 or
      written < 0 or a < 0 or b < 0 or c < 0 or a > written then
    return 'unreadable 1'
  end
elseif stored.err then
  if string.find(stored.err, 'WRONGTYPE', 1, true) then return 'unreadable 1' end
  return stored
elseif written or a or b or c or redis.call('EXISTS', key) ~= 0 then
  return 'unreadable 1'
else
  written, a = 0, nil
  stored[1], stored[2], stored[3], stored[4] = '0', '-', '-', '-'
end
