# Two methods by turns, each of as much CPU time and called as deep as the other; and one that both callers share.
#
#     alternating.rb RESULT SECONDS
#
# At the end RESULT says the process and how much CPU time, in ns, was spent below either caller.
def now
  Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
end

def work
  i = 0
  i += 1 while i < 100
end

def left_leaf(end_s)
  work while now < end_s
end

def right_leaf(end_s)
  work while now < end_s
end

def shared(end_s)
  work while now < end_s
end

def left_path(half_s)
  begin_s = now
  left_leaf(begin_s + half_s)
  shared(begin_s + 2 * half_s)
  now - begin_s
end

def right_path(half_s)
  begin_s = now
  right_leaf(begin_s + half_s)
  shared(begin_s + 2 * half_s)
  now - begin_s
end

left_s = right_s = 0
while left_s + right_s < ARGV[1].to_f
  half = 0.0005 + rand * 0.0035
  left_s += left_path(half)
  right_s += right_path(half)
end
File.write(ARGV[0], "#{Process.pid} #{(left_s * 1e9).to_i} #{(right_s * 1e9).to_i}\n")
