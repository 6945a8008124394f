-- Calls of every kind, for ever: recursion, callbacks from C, coroutines one inside of the other, pcall, metamethods, loaded text.
-- Each turn makes and drops functions.
local function work(rounds)
  local total = 0
  for i = 1, rounds do
    total = total + i * i % 7
  end
  return total
end

local function recursion(depth)
  if depth == 0 then
    return work(400)
  end
  return recursion(depth - 1) + 1
end

local Amount = {}
Amount.__index = Amount
Amount.__lt = function(a, b)
  work(60)
  return a.value < b.value
end

local function sorted()
  local list = {}
  for i = 1, 5 do
    list[i] = setmetatable({ value = i * 3 % 5 }, Amount)
  end
  table.sort(list)
end

local function in_coroutine()
  while true do
    recursion(2)
    pcall(recursion, 3)
    coroutine.yield(work(200))
  end
end

local inner = coroutine.wrap(in_coroutine)
local outer = coroutine.wrap(function()
  while true do
    work(100)
    coroutine.yield(inner())
  end
end)

while true do
  recursion(8)
  sorted()
  outer()
  string.gsub("abc", "%w", function(letter)
    work(80)
    return letter
  end)
  load("local work = ...\nreturn work(150)", "=made")(work)
end
