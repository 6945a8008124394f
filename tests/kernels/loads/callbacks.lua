-- A program for the guest: Lua's own sort calls Lua again.
local function innermost(number)
  local total = 0
  for i = 0, 199 do
    total = total + (i * number & 7)
  end
  return total
end

local function callback(left, right)
  return innermost(left) < innermost(right)
end

local function outermost()
  while true do
    local numbers = {}
    for i = 1, 100 do
      numbers[i] = i * 7 % 100
    end
    table.sort(numbers, callback)
  end
end

outermost()
