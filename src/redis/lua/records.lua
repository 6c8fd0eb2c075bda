-- A piece of the driver: what the key of a plan's first limit remembers of evaluations. For repeats and for callers'
-- ids; an evaluation with an id made here is known to be new. The fields: driver.lua.
--
-- The ring of callers' ids keeps the newest max_entries records within max_bytes: which those are follows from a
-- record's number and the bytes before it, so nothing has to be removed at once.
local function records_of(key, ttl, max_entries, max_bytes)
  local format, match, number = string.format, string.match, tonumber
  local function amount_of(text)
    local value = number(text or 0)
    return value and value >= 0 and value < 9007199254740992 and value % 1 == 0 and value or 0
  end
  local ring = redis.call('HMGET', key, 'records', 'record_bytes')
  local records, bytes = amount_of(ring[1]), amount_of(ring[2])
  local records_before, bytes_before = records, bytes
  local added = {}  -- records of this call by field, for the evaluations after them

  local function parse(record)
    local serial, before, cost, at = match(record, '^(%d+) (%d+) (%d+) (%d+) ')
    if serial then return number(serial), number(before), cost, number(at) end
  end
  local function in_ring(serial, before)
    return serial == records or (records - serial < max_entries and bytes - before <= max_bytes)
  end
  -- Calls `visit` with every stored record of a caller's id: field, number, bytes before it, when it was made.
  local function each(visit)
    local all = redis.call('HGETALL', key)
    for n = 1, #all, 2 do
      if string.sub(all[n], 1, 3) == 'id:' then
        local serial, before, _, at = parse(all[n + 1])
        visit(all[n], serial, before, at)
      end
    end
  end

  -- Whether the ring may have dropped a record made at `since` or later: it has dropped some, and holds none that is
  -- older.
  local function may_have_dropped(since)
    if records <= max_entries and bytes <= max_bytes then return false end
    local dropped = true
    each(function(_, serial, before, at)
      if serial and in_ring(serial, before) and at < since then dropped = false end
    end)
    return dropped
  end

  local function answer_own(field, tag, caller_now)
    local stored = redis.call('HMGET', key, field, 'batch0', 'batch1', 'batch2', 'batch3')
    local newest = -1
    if stored[1] then
      local found, at = match(stored[1], '^(%S+) (%d+) ')
      if found == tag then return 'replayed ' .. stored[1] end
      newest = number(at) or caller_now
    end
    for n = 2, 5 do
      if stored[n] then
        if string.find(stored[n], tag .. ':', 1, true) then return 'in-batch ' .. stored[n] end
        newest = math.max(newest, number(match(stored[n], '^%d+')) or caller_now)
      end
    end
    -- Records of a key never grow older: had there been one of this evaluation, it would be as new as the first
    -- try, and so would be whatever replaced it.
    if newest >= caller_now then return 'ambiguous' end
  end

  local function answer_callers(field, cost, is_repeat, caller_now, now)
    local record = added[field] or redis.call('HGET', key, field)
    local serial, before, recorded_cost, at
    if record then serial, before, recorded_cost, at = parse(record) end
    if serial and now < at + ttl and (is_repeat or in_ring(serial, before)) then
      if recorded_cost == cost then return 'replayed ' .. record end
      return 'conflict ' .. recorded_cost
    end
    if is_repeat and (serial and at >= caller_now or may_have_dropped(caller_now)) then return 'ambiguous' end
  end

  -- The record of a caller's id that counts `size` bytes; `rest`: what it says after its cost.
  local function add(field, size, cost, rest)
    records = records + 1
    local record = format('%.0f %.0f ', records, bytes) .. cost .. ' ' .. rest
    bytes = bytes + size
    added[field] = record
    return record
  end

  -- The fields that the ring has dropped. They are removed whenever as many or as much as it holds was added, so at
  -- most twice its bounds are ever there.
  local function dropped()
    local fields = {}
    if math.floor(records / max_entries) ~= math.floor(records_before / max_entries) or
        math.floor(bytes / max_bytes) ~= math.floor(bytes_before / max_bytes) then
      each(function(field, serial, before)
        local is_held = serial and in_ring(serial, before)
        if not added[field] and not is_held then fields[#fields + 1] = field end
      end)
    end
    return fields
  end

  -- To the words of the HSET that writes the new records.
  local function add_counts(words)
    if records == records_before then return end
    local n = #words
    words[n + 1], words[n + 2], words[n + 3], words[n + 4] = 'records', records, 'record_bytes', bytes
  end

  return {answer_own = answer_own, answer_callers = answer_callers, add = add, add_counts = add_counts, dropped = dropped}
end
