# Uses 300 ms of CPU time in methods of its own: `first` to `last`, one after the other.
def burn(until_time)
  50.times { |i| i * i } while Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID) < until_time
end

def first(until_time)
  burn(until_time)
end

def middle(until_time)
  burn(until_time)
end

def last(until_time)
  burn(until_time)
end

start = Process.clock_gettime(Process::CLOCK_PROCESS_CPUTIME_ID)
first(start + 0.1)
middle(start + 0.2)
last(start + 0.3)
