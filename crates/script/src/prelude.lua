-- The sandbox that scripts run in. Gets what is written in Rust, and returns the functions that run a script.
--
-- Scripts see `globals`: empty but for KEYS and ARGV, which are each script's own. Behind it stand the libraries, each
-- behind a table of its own that cannot be changed. So nothing outlasts a script.
local native = ...

local error, getmetatable, ipairs, next, pairs = error, getmetatable, ipairs, next, pairs
local pcall, rawget, rawset, rawequal, select = pcall, rawget, rawset, rawequal, select
local setmetatable, tonumber, tostring, type, unpack, xpcall =
  setmetatable, tonumber, tostring, type, unpack, xpcall
local assert, loadstring = assert, loadstring
local byte, sub, format, rep = string.byte, string.sub, string.format, string.rep
local find, lower = string.find, string.lower
local concat = table.concat
local floor, min, max = math.floor, math.min, math.max
local huge = math.huge
local has_ended, charge = native.has_ended, native.charge

-- Of so many bytes or elements something takes long.
local LONG = 4096
-- Longest text that a script may compile.
local TEXT_BYTES_MAX = 1048576

-- Most values that `unpack` may leave, as many as Lua's stack takes; and the numbers that its 32 bits hold.
local UNPACKED_MAX, INTEGER_MAX = 8000, 2147483647

local globals = {}
local locked = setmetatable({}, { __mode = 'k' })
local base = {}

local function refuse_change() error('Attempt to modify a readonly table', 2) end

-- What a script gets for the metatable of a table that cannot be changed.
local closed = setmetatable({}, { __newindex = refuse_change, __metatable = false })
locked[closed] = true

local function lock(of, missing)
  local door = of == base and globals or {}
  locked[door] = true
  return setmetatable(door, {
    __index = of,
    __newindex = refuse_change,
    __metatable = closed,
  })
end

-- An error of Rust: what it is to the script.
local function raised_by(it)
  if type(it) ~= 'userdata' then return it end
  local raised = native.raised()
  if raised == nil then return it end
  return raised
end

-- Where the sandbox has called for a script says nothing to it.
local function unplaced(it)
  if type(it) ~= 'string' or sub(it, 1, 8) ~= 'prelude:' then return it end
  local _, last = native.plain(it, ': ', 1)
  return last and sub(it, last + 1) or it
end

-- A script that has to end cannot go on by catching that.
local function passed(ok, raised)
  if has_ended() then error('the script has to end', 0) end
  raised = unplaced(raised_by(raised))
  -- As in Redis: of the error of a command its text.
  local text = type(raised) == 'table' and rawget(raised, 'err')
  if type(text) == 'string' then raised = text end
  return ok, raised
end

base._VERSION = _VERSION
base._G = globals
base.assert = assert
base.error = error
base.getmetatable = getmetatable
base.ipairs = ipairs
base.next = next
base.pairs = pairs
base.rawequal = rawequal
base.rawget = rawget
base.select = select
base.tonumber = tonumber
base.tostring = tostring
base.type = type

function base.setmetatable(of, ...)
  if locked[of] then refuse_change() end
  return setmetatable(of, ...)
end

-- Lua's own counts what it leaves in 32 bits, and writes beyond its stack where that overflows.
function base.unpack(of, from, to)
  if type(of) ~= 'table' then return unpack(of) end
  local first, last = tonumber(from == nil and 1 or from), tonumber(to == nil and #of or to)
  if not first or not last then return unpack(of, from, to) end
  if first > last then return end
  local is_within = first >= -INTEGER_MAX and last < INTEGER_MAX and last - first < UNPACKED_MAX
  if not is_within then error('too many results to unpack', 2) end
  return unpack(of, first, last)
end

-- Lua's own `pcall` has room for some twenty results and a few more, and does not ask for it.
local function kept(...) return { n = select('#', ...), ... } end

function base.pcall(f, ...)
  local results
  local ok, raised = pcall(function(...) results = kept(f(...)) end, ...)
  if ok then return true, unpack(results, 1, results.n) end
  return passed(false, raised)
end

function base.xpcall(f, handler)
  local results
  local ok, raised = xpcall(function() results = kept(f()) end, function(raised)
    -- No instruction is counted in a handler of what the counting has ended.
    if has_ended() then return raised end
    return handler(raised_by(raised))
  end)
  if ok then return true, unpack(results, 1, results.n) end
  return passed(false, raised)
end

function base.rawset(of, key, value)
  if locked[of] then refuse_change() end
  return rawset(of, key, value)
end

function base.loadstring(text, name)
  if type(text) == 'string' and byte(text, 1) == 27 then
    return nil, 'bytecode is refused'
  end
  if type(text) == 'string' and #text > TEXT_BYTES_MAX then
    return nil, 'the text is longer than 1 MiB'
  end
  return loadstring(text, name)
end

function base.load(reader, name)
  local pieces = {}
  while true do
    local piece = reader()
    if piece == nil or piece == '' then break end
    if type(piece) ~= 'string' then error('reader function must return a string', 2) end
    pieces[#pieces + 1] = piece
  end
  return base.loadstring(concat(pieces), name or '=(load)')
end

function base.collectgarbage(what)
  if what == nil or what == 'collect' or what == 'step' then return 0 end
  if what == 'count' then return native.kilobytes() end
  error('collectgarbage: a script may count alone', 2)
end

-- Strings: those of Lua, and in place of those with patterns some whose time is bounded.
local strings = {}
for _, name in ipairs { 'byte', 'char', 'format', 'len', 'sub' } do
  strings[name] = string[name]
end

local scan, plain, is_plain, replace = native.scan, native.plain, native.is_plain, native.replace

local function as_text(it, at, name)
  local kind = type(it)
  if kind == 'string' then return it end
  if kind == 'number' then return tostring(it) end
  local got = it == nil and 'no value' or kind
  error(format("bad argument #%d to '%s' (string expected, got %s)", at, name, got), 3)
end

-- What takes long for one instruction is charged for what it takes.
for _, name in ipairs { 'lower', 'reverse', 'upper' } do
  local change = string[name]
  strings[name] = function(text)
    text = as_text(text, 1, name)
    if #text > LONG then charge(#text) end
    local changed = change(text)
    return changed
  end
end

function strings.rep(text, count)
  text = as_text(text, 1, 'rep')
  local times = tonumber(count)
  if times == nil then
    error(format("bad argument #2 to 'rep' (number expected, got %s)", type(count)), 2)
  end
  if text == '' or times < 1 then return '' end
  if #text * times > LONG then return native.repeat_text(text, floor(times)) end
  local repeated = rep(text, times)
  return repeated
end

local function start_of(init, len)
  init = init or 1
  if init < 0 then init = max(len + init + 1, 1) elseif init == 0 then init = 1 end
  return min(init, len + 1)
end

local function found(from, to, ...)
  if from == nil then return nil end
  return from, to - 1, ...
end

function strings.find(text, pattern, init, is_exact)
  text = as_text(text, 1, 'find')
  pattern = as_text(pattern, 2, 'find')
  local at = start_of(init, #text)
  if is_exact or is_plain(pattern) then
    local from, to = plain(text, pattern, at)
    if from == nil then return nil end
    return from, to
  end
  return found(scan(text, pattern, at))
end

local function matched(text, from, to, ...)
  if from == nil then return nil end
  if select('#', ...) == 0 then return sub(text, from, to - 1) end
  return ...
end

function strings.match(text, pattern, init)
  text = as_text(text, 1, 'match')
  pattern = as_text(pattern, 2, 'match')
  return matched(text, scan(text, pattern, start_of(init, #text)))
end

function strings.gmatch(text, pattern)
  text = as_text(text, 1, 'gmatch')
  pattern = as_text(pattern, 2, 'gmatch')
  -- In a pattern of gmatch it stands for itself.
  if byte(pattern, 1) == 94 then pattern = '%' .. pattern end
  local at = 1
  local function step(from, to, ...)
    if from == nil then
      at = #text + 2
      return nil
    end
    at = to > from and to or to + 1
    return matched(text, from, to, ...)
  end
  return function()
    if at > #text + 1 then return nil end
    return step(scan(text, pattern, at))
  end
end

local function replaced_by(text, by, from, to, ...)
  local whole = sub(text, from, to - 1)
  local key = select('#', ...) == 0 and whole or (...)
  local value
  if type(by) == 'table' then
    value = by[key]
  elseif select('#', ...) == 0 then
    value = by(whole)
  else
    value = by(...)
  end
  if not value then return whole end
  local kind = type(value)
  if kind ~= 'string' and kind ~= 'number' then
    error(format('invalid replacement value (a %s)', kind), 4)
  end
  return value
end

local function replace_each(text, pattern, by, most)
  local pieces, count, at = {}, 0, 1
  local is_anchored = byte(pattern, 1) == 94
  local function step(from, to, ...)
    if from == nil then return false end
    count = count + 1
    pieces[#pieces + 1] = sub(text, at, from - 1)
    pieces[#pieces + 1] = replaced_by(text, by, from, to, ...)
    at = to
    if to == from then
      pieces[#pieces + 1] = sub(text, from, from)
      at = from + 1
    end
    return not is_anchored and at <= #text + 1
  end
  while count < most and step(scan(text, pattern, at)) do end
  pieces[#pieces + 1] = sub(text, at)
  return concat(pieces), count
end

function strings.gsub(text, pattern, by, most)
  text = as_text(text, 1, 'gsub')
  pattern = as_text(pattern, 2, 'gsub')
  local kind = type(by)
  if most == nil then most = #text + 1 end
  most = max(0, floor(most))
  if kind == 'string' or kind == 'number' then
    return replace(text, pattern, tostring(by), most)
  end
  if kind ~= 'table' and kind ~= 'function' then
    error("bad argument #3 to 'gsub' (string/function/table expected)", 2)
  end
  return replace_each(text, pattern, by, most)
end

base.string = lock(strings)
local of_strings = getmetatable('')
of_strings.__index = base.string
of_strings.__metatable = closed

local tables = {}
for name, it in pairs(table) do tables[name] = it end

local function as_table(it, name)
  if type(it) == 'table' then return end
  local got = it == nil and 'no value' or type(it)
  error(format("bad argument #1 to '%s' (table expected, got %s)", name, got), 3)
end

for _, name in ipairs { 'concat', 'insert', 'remove' } do
  local change = table[name]
  tables[name] = function(of, ...)
    as_table(of, name)
    local count = #of
    if name == 'insert' and select('#', ...) > 1 then
      -- From there on everything moves by one, in one instruction that nothing interrupts.
      local place = tonumber((...))
      if place and place < -LONG then
        error("bad argument #2 to 'insert' (position out of bounds)", 2)
      end
    end
    if count > LONG then charge(count * 16) end
    return change(of, ...)
  end
end

local function less(a, b) return a < b end

-- Merges sorted runs: Lua's own sort takes the square of the count where somebody has chosen the order, and nothing interrupts it.
function tables.sort(of, before)
  as_table(of, 'sort')
  before = before or less
  local count, from, to = #of, {}, {}
  for at = 1, count do from[at] = of[at] end
  local width = 1
  while width < count do
    local at = 1
    while at <= count do
      local middle, last = min(at + width, count + 1), min(at + 2 * width, count + 1)
      local left, right = at, middle
      for place = at, last - 1 do
        if left < middle and (right >= last or not before(from[right], from[left])) then
          to[place], left = from[left], left + 1
        else
          to[place], right = from[right], right + 1
        end
      end
      at = last
    end
    from, to = to, from
    width = 2 * width
  end
  for at = 1, count do of[at] = from[at] end
end

base.table = lock(tables)

-- Numbers from a fixed seed.
local maths = {}
for name, it in pairs(math) do maths[name] = it end
function maths.random(low, high)
  local drawn = native.random()
  if low == nil then return drawn end
  if high == nil then low, high = 1, low end
  if low > high then error("bad argument #1 to 'random' (interval is empty)", 2) end
  return floor(drawn * (high - low + 1)) + low
end
function maths.randomseed(seed) native.seed(seed) end
base.math = lock(maths)

base.bit = lock(native.bit)
base.cjson = lock(native.cjson)
base.cmsgpack = lock(native.cmsgpack)
base.struct = lock(native.struct)

-- Redis.
local redis = {}

-- In Rust, so that `return redis.call(...)`, which leaves no trace of a caller in Lua, leaves one.
redis.call, redis.pcall, redis.acl_check_cmd = native.call, native.pcall, native.acl_check_cmd

function redis.error_reply(text)
  if type(text) ~= 'string' then
    return { err = 'ERR wrong number or type of arguments' }
  end
  if byte(text, 1) == 45 then text = sub(text, 2) end
  local space = plain(text, ' ', 1)
  if not space then return { err = 'ERR ' .. text } end
  return { err = text }
end

function redis.status_reply(text)
  if type(text) ~= 'string' then
    return { err = 'ERR wrong number or type of arguments' }
  end
  return { ok = text }
end

redis.sha1hex, redis.log, redis.setresp = native.sha1hex, native.log, native.setresp

-- Effects are replicated, and nothing else is: there is nothing to choose.
function redis.replicate_commands() return true end
function redis.set_repl() end
function redis.breakpoint() return false end
function redis.debug() end

redis.LOG_DEBUG, redis.LOG_VERBOSE, redis.LOG_NOTICE, redis.LOG_WARNING = 0, 1, 2, 3
redis.REPL_NONE, redis.REPL_AOF, redis.REPL_SLAVE, redis.REPL_REPLICA, redis.REPL_ALL = 0, 1, 2, 2, 3
redis.REDIS_VERSION, redis.REDIS_VERSION_NUM = native.VERSION, native.VERSION_NUMBER
base.redis = lock(redis)
base.server = base.redis

setmetatable(base, {
  __index = function(_, name)
    error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
  end,
})
lock(base)

-- What is told of an error, and where the script was.
local function explain(raised)
  if has_ended() then return raised end
  local line = native.line()
  raised = unplaced(raised_by(raised))
  if type(raised) ~= 'table' then raised = { err = 'ERR ' .. tostring(raised) } end
  if rawget(raised, 'err') == nil then raised = { err = 'ERR unknown error' } end
  return { err = tostring(rawget(raised, 'err')), line = line }
end

local function run(chunk, keys, arguments)
  rawset(globals, 'KEYS', keys)
  rawset(globals, 'ARGV', arguments)
  local ok, result = xpcall(chunk, explain)
  rawset(globals, 'KEYS', nil)
  rawset(globals, 'ARGV', nil)
  return ok, result
end

-- Libraries of functions.
--
-- As in Redis a library sees next to nothing while its text runs, so what it registers follows from that text alone: the same on each node,
-- and at each call, for which it is run again, so that nothing of one call is there in the next. Its functions see what scripts see.
local function absent(_, name)
  error("Script attempted to access nonexistent global variable '" .. tostring(name) .. "'", 2)
end

local loading = { log = redis.log }
local called = {}
for name, it in pairs(redis) do
  called[name] = it
  if sub(name, 1, 4) == 'LOG_' or sub(name, 1, 6) == 'REDIS_' then loading[name] = it end
end
-- What there is for scripts alone.
called.replicate_commands, called.breakpoint, called.debug = nil, nil, nil
setmetatable(loading, { __index = absent })
local while_loading = setmetatable({ redis = lock(loading) }, { __index = absent })
local while_called = setmetatable({ redis = lock(called) }, { __index = base })
while_called.server, while_loading.server = while_called.redis, while_loading.redis

local of_library = {
  __index = while_loading,
  __newindex = function() error('Attempt to modify a readonly table', 2) end,
  __metatable = false,
}
local library_globals = setmetatable({}, of_library)
locked[library_globals] = true

-- What becomes of a function that a library registers.
local register

local function refused(text) error({ err = 'ERR ' .. text }, 0) end

local function name_of(it)
  local kind = type(it)
  if kind == 'number' then return tostring(it) end
  if kind == 'string' then return it end
end

local FLAGS = {
  ['no-writes'] = 1,
  ['allow-oom'] = 2,
  ['allow-stale'] = 4,
  ['no-cluster'] = 8,
  ['allow-cross-slot-keys'] = 16,
}

local function flags_of(given)
  if type(given) ~= 'table' then
    refused('flags argument to redis.register_function must be a table representing function flags')
  end
  local flags, has = 0, {}
  for _, name in ipairs(given) do
    local flag = FLAGS[name] or refused('unknown flag given')
    if not has[flag] then flags = flags + flag end
    has[flag] = true
  end
  return flags
end

local function text_of(it, name)
  local text = name_of(it)
  if text then return text end
  refused(name .. ' argument given to redis.register_function must be a string')
end

local function named(given)
  local it = { flags = 0 }
  for key, value in next, given do
    key = name_of(key) or refused('named argument key given to redis.register_function is not a string')
    key = lower(key)
    if key == 'function_name' then
      it.name = text_of(value, 'function_name')
    elseif key == 'description' then
      it.description = text_of(value, 'description')
    elseif key == 'callback' then
      if type(value) ~= 'function' then
        refused('callback argument given to redis.register_function must be a function')
      end
      it.callback = value
    elseif key == 'flags' then
      it.flags = flags_of(value)
    else
      refused('unknown argument given to redis.register_function')
    end
  end
  if not it.name then refused('redis.register_function must get a function name argument') end
  if not it.callback then refused('redis.register_function must get a callback argument') end
  return it
end

function loading.register_function(...)
  local count, first, callback = select('#', ...), ...
  if count < 1 or count > 2 then
    refused('wrong number of arguments to redis.register_function')
  end
  if count == 1 then
    if type(first) ~= 'table' then
      refused('calling redis.register_function with a single argument is only applicable to Lua table (representing named arguments).')
    end
    return register(named(first))
  end
  local name = name_of(first) or refused('first argument to redis.register_function must be a string')
  if type(callback) ~= 'function' then
    refused('second argument to redis.register_function must be a function')
  end
  return register({ name = name, callback = callback, flags = 0 })
end

-- Runs a library's text. What it has registered, or the error.
local function load(chunk)
  local functions, known = {}, {}
  register = function(it)
    if it.name == '' or find(it.name, '[^%w_]') then
      refused('Library names can only contain letters, numbers, or underscores(_) and must be at least one character long')
    end
    local name = lower(it.name)
    if known[name] then refused('Function already exists in the library') end
    known[name] = true
    functions[#functions + 1] = it
  end
  of_library.__index = while_loading
  local ok, raised = xpcall(chunk, explain)
  if ok then return true, functions end
  return false, raised
end

-- Runs a library's text, and one of its functions.
local function call(chunk, keys, arguments, name)
  local callback
  register = function(it)
    if it.name == name then callback = it.callback end
  end
  of_library.__index = while_loading
  local ok, result = xpcall(function()
    chunk()
    of_library.__index = while_called
    return callback(keys, arguments)
  end, explain)
  return ok, result
end

return {
  run = run,
  globals = globals,
  load = load,
  call = call,
  library_globals = library_globals,
}
