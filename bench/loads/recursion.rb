# recursion.rb SECONDS: 50 frames deep, where the time is spent.
def f(depth)
  return f(depth - 1) + 1 if depth > 0

  total = 0
  i = 0
  while i < 20_000
    total += i * i % 7
    i += 1
  end
  total
end

finish = Time.now + ARGV[0].to_f
f(48) while Time.now < finish
