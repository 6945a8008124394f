# A program for the guest: Ruby's own sort calls Ruby again.
def innermost(number)
  total = 0
  i = 0
  while i < 200
    total += i * number & 7
    i += 1
  end
  total
end

def callback(number)
  innermost(number)
end

def outermost
  loop { (0..999).to_a.sort_by { |number| callback(number) } }
end

outermost
