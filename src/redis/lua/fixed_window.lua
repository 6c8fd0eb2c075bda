-- fixed-window: counts in windows aligned to the epoch.
-- state: window count
--
-- window  start of the window that `count` belongs to, ms
-- count   consumed in it, units
--
-- Every algorithm is one pure function of
--   a, b, c                     its stored fields in the order above, a == nil if there are none
--   cost, now                   units, ms; `now` is never before the time the fields were written
--   limit, span, refill, grace  the policy: limit or capacity, window or period in ms, refill, grace in ms
-- It returns nothing if the cost does not fit. Otherwise the fields to store and, for the key's TTL, a
-- time after which they say no more than absent ones would. That time may change only when `a` does.
-- All values are whole numbers below 2^53, which doubles hold exactly; so are all products formed here.
local function fixed_window(window, count, _, cost, now, limit, span)
  local start = now - now % span
  -- Only the start decides which window a count belongs to; the key's TTL never does.
  if window ~= start then count = 0 end
  if count > limit - cost then return end
  return start, count + cost, nil, start + span
end
