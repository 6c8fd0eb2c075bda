-- A piece of the drivers: checks what HMGET `stored` of limit `i` at `key`: whole numbers that a double holds exactly,
-- below 2^53. Leaves the fields as text in `stored`, and as numbers in written, a, b, c; a == nil if there is no state.
local written, a, b, c = stored[1], stored[2], stored[3], stored[4]
if written and a and b and c ~= false then
  written, a, b = number(written), number(a), number(b)
  if c then c = number(c) else c = 0 end
  if not (written and a and b and c) or written % 1 + a % 1 + b % 1 + c % 1 ~= 0 or
      written < 0 or a < 0 or b < 0 or c < 0 or a > written or
      written >= 9007199254740992 or b >= 9007199254740992 or c >= 9007199254740992 then
    return 'unreadable ' .. i
  end
elseif stored.err then
  if string.find(stored.err, 'WRONGTYPE', 1, true) then return 'unreadable ' .. i end
  return stored
elseif written or a or b or c or redis.call('EXISTS', key) ~= 0 then
  return 'unreadable ' .. i
else
  written, a = 0, nil
  stored[1], stored[2], stored[3], stored[4] = '0', '-', '-', '-'
end
