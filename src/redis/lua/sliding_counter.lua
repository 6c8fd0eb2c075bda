-- sliding-counter: the previous window counts by the share of it that the sliding window still covers.
-- state: window current previous
--
-- window    start of the window that `current` belongs to, ms
-- current   consumed in it, units
-- previous  consumed in the window before it, units
--
-- What a, b, c and the rest mean: fixed_window.lua.
local function sliding_counter(window, current, previous, cost, now, limit, span)
  local start = now - now % span
  if window == start - span then
    previous, current = current, 0
  elseif window ~= start then
    previous, current = 0, 0
  end
  -- Counts written under a larger limit or another window are cut to what multiplies exactly.
  local most = 9007199254740991
  most = (most - most % span) / span
  if current > most then current = most end
  if previous > most then previous = most end
  local covered = previous * (start + span - now)
  if (covered - covered % span) / span + current > limit - cost then return end
  return start, current + cost, previous, start + 2 * span
end
