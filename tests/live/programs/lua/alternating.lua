-- Two functions by turns, each of as much CPU time and called as deep as the other; and one that both callers share.
--
--     alternating.lua RESULT SECONDS
--
-- At the end RESULT says the process and how much CPU time, in ns, was spent below either caller. Lua knows no process
-- number: Linux's /proc/self/stat has it.
local now = os.clock

local function work()
  local i = 0
  while i < 100 do
    i = i + 1
  end
end

function left_leaf(end_s)
  while now() < end_s do
    work()
  end
end

function right_leaf(end_s)
  while now() < end_s do
    work()
  end
end

function shared(end_s)
  while now() < end_s do
    work()
  end
end

function left_path(half_s)
  local begin_s = now()
  left_leaf(begin_s + half_s)
  shared(begin_s + 2 * half_s)
  return now() - begin_s
end

function right_path(half_s)
  local begin_s = now()
  right_leaf(begin_s + half_s)
  shared(begin_s + 2 * half_s)
  return now() - begin_s
end

local left_s, right_s = 0, 0
while left_s + right_s < tonumber(arg[2]) do
  local half = 0.0005 + math.random() * 0.0035
  left_s = left_s + left_path(half)
  right_s = right_s + right_path(half)
end
local process = io.open("/proc/self/stat"):read("n")
io.open(arg[1], "w"):write(string.format("%d %d %d\n", process, math.floor(left_s * 1e9), math.floor(right_s * 1e9)))
