-- token-bucket: holds tokens, gains some after each whole period.
-- state: since tokens
--
-- since    the time that `tokens` was counted for, ms; whole periods after an earlier one
-- tokens   tokens held then, units
--
-- What a, b, c and the rest mean: fixed_window.lua.
local function token_bucket(since, tokens, _, cost, now, capacity, period, refill, grace)
  local full_in = 0
  if since then
    -- Held tokens over a capacity that was lowered count as full since some periods ago.
    local missing = capacity - tokens
    full_in = missing > 0 and math.ceil(missing / refill) or
              math.min(0, math.ceil((missing + refill - 1) / refill))
  end
  if not since or since + full_in * period + grace <= now then
    since, tokens = now, capacity
  else
    local elapsed = now - since
    elapsed = elapsed - elapsed % period  -- whole periods: the rest stays to be counted later
    since = since + elapsed
    if tokens > capacity then tokens = capacity end
    -- Formed only where it cannot pass the capacity, so it is exact.
    if elapsed >= full_in * period then
      tokens = capacity
    else
      tokens = tokens + elapsed / period * refill
    end
  end
  if tokens < cost then return end
  return since, tokens - cost, nil, since + math.ceil(capacity / refill) * period
end
