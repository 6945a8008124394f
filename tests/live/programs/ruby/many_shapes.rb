# All the ways in which Ruby frames come about, over and over, until the process is killed.
#
#     many_shapes.rb [threads|deep|fibers|ractors]
#
# The tests preload own_backtrace.so, which answers SIGUSR2 with the backtrace of the thread that gets it, and asks
# for names of methods in the file STACKRAY_BACKTRACES. Runs on Ruby 2.5 and later.
module Shapes
  def self.work(rounds)
    total = 0
    i = 0
    while i < rounds
      total += i * i
      i += 1
    end
    total
  end

  class Base
    def overridden(rounds)
      yield Shapes.work(rounds)
    end
  end

  module Mixed
    def overridden(rounds)
      super(rounds) { |value| yield value + Shapes.work(20) }
    end

    def from_module(rounds)
      [1, 2].map { |x| x + Shapes.work(rounds) }
    end
  end

  class Derived < Base
    include Mixed
    include Comparable
    attr_accessor :value

    def initialize(value)
      @value = value
    end

    def overridden(rounds)
      super { |result| return result + Shapes.work(rounds) }
    end

    def <=>(other)
      Shapes.work(10)
      value <=> other.value
    end

    def method_missing(name, *arguments)
      return super unless name.to_s.start_with?("unknown_")
      arguments.each { |argument| Shapes.work(argument) }
      name
    end

    def respond_to_missing?(name, all = false)
      Shapes.work(5)
      name.to_s.start_with?("unknown_") || super
    end

    def to_s
      Shapes.work(20).to_s
    end

    def inspect
      "#<#{Shapes.work(20)}>"
    end

    def hash
      Shapes.work(10)
      value.hash
    end

    def eql?(other)
      Shapes.work(10)
      value == other.value
    end

    def each
      return to_enum(:each) unless block_given?
      3.times { |i| yield Shapes.work(20) + i }
    end

    def rescued(depth)
      raise ArgumentError, "no" if depth.zero?
      rescued(depth - 1)
    rescue ArgumentError
      Shapes.work(30)
      raise if depth == 2
      depth
    ensure
      Shapes.work(20)
    end

    def thrown
      catch(:found) { [1, 2, 3].each { |x| throw :found, Shapes.work(20) if x == 2 } }
    end

    define_method(:defined_by_block) { |rounds| Shapes.work(rounds) + 1 }

    class << self
      def of_singleton(rounds)
        new(rounds).tap { |made| made.value = Shapes.work(rounds) }
      end
    end

    class_eval "def evaluated(rounds)\n  Shapes.work(rounds) +\n    Shapes.work(rounds)\nend", "<made>", 7

    def größe(rounds)
      -> { Shapes.work(rounds) }.call
    end
  end

  def self.recursion(depth)
    return work(60) if depth.zero?
    recursion(depth - 1) + 1
  end

  def self.called_from_c
    list = [5, 3, 1, 4, 2].map { |x| Derived.new(x) }
    list.sort
    list.sort { |a, b| work(10); b.value <=> a.value }
    list.sort_by { |x| work(20) + x.value }
    list.max
    list.inspect
    list.join(",")
    { list[0] => 1, list[1] => 2 }.key?(list[1])
    "a1b22c333".gsub(/\d+/) { |digits| work(20).to_s + digits }
    Hash.new { |hash, key| hash[key] = work(key) }[25]
    list.map(&:to_s)
    list.inject(0) { |sum, x| sum + work(10) + x.value }
    list.each_with_index.map { |x, i| work(10) + i }
    list.each_slice(2) { |part| part.each_cons(2) { |pair| work(10) + pair.size } }
    Array.new(3) { |i| work(20) + i }
  end

  def self.other_calls
    one = Derived.of_singleton(30)
    one.overridden(20)
    one.from_module(20)
    one.unknown_method(20, 10)
    one.respond_to?(:unknown_other)
    one.send(:defined_by_block, 30)
    one.method(:evaluated).call(20)
    one.public_send(:größe, 20)
    one.rescued(1)
    begin
      one.rescued(3)
    rescue ArgumentError
      work(20)
    end
    one.thrown
    one.instance_eval { work_in_instance = Shapes.work(20); work_in_instance + value }
    eval("work(20) + \n work(15)", binding, "<eval>", 3)
    Class.new { def anonymous(rounds); Shapes.work(rounds); end }.new.anonymous(20)
    [1, 2].each { |x| [3].each { |y| [4].each { |z| work(10) + x + y + z } } }
    proc { |x| work(x) }.curry[15]
    Struct.new(:a) { def doubled; Shapes.work(15) * a; end }.new(2).doubled
  end

  def self.generators
    one = Derived.new(1)
    numbers = one.each
    numbers.next + numbers.next
    one.each.lazy.map { |x| x + work(10) }.first(2)
    fiber = Fiber.new { |x| loop { x = Fiber.yield(work(20) + x) } }
    4.times { |i| fiber.resume(i) }
  end

  def self.all_shapes
    recursion(12)
    called_from_c
    other_calls
    generators
  end

  def self.deep(depth)
    return loop { work(100) } if depth.zero?
    deep(depth - 1)
  end

  def self.nested_fibers(depth)
    return 200.times { work(100) } if depth.zero?
    Fiber.new { nested_fibers(depth - 1) }.resume
  end
end

kind = ARGV[0]
if kind == "names" # What methods there are, for the tests.
  ObjectSpace.each_object(Module) do |owner|
    next unless owner.name.to_s.start_with?("Shapes")
    owner.instance_methods(false).each { |name| puts "#{owner.name}##{name}" }
    owner.private_instance_methods(false).each { |name| puts "#{owner.name}##{name}" }
    owner.singleton_methods(false).each { |name| puts "#{owner.name}.#{name}" }
  end
elsif kind == "threads"
  Array.new(4) { Thread.new { loop { Shapes.all_shapes } } }.each(&:join)
elsif kind == "deep"
  Thread.new { Shapes.deep(900) }.join
elsif kind == "fibers"
  loop { Shapes.nested_fibers(4) }
elsif kind == "ractors"
  Array.new(2) { Ractor.new { loop { Shapes.recursion(12); [3, 1, 2].sort_by { |x| Shapes.work(20) + x } } } }
  loop { Shapes.recursion(9) }
else
  loop { Shapes.all_shapes }
end
