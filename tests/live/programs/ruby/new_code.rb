# Makes methods, calls them and drops them, all the time: their memory is reused.
number = 0
loop do
  number += 1
  made = Class.new do
    class_eval <<-METHOD, "<made>", 1
      def made_#{number}(rounds)
        total = 0
        rounds.times { |i| total += i * i }
        total
      end
    METHOD
  end
  made.new.send("made_#{number}", 300)
  eval("[1, 2].each { |x| 100.times { |i| x + i } }", binding, "<made>", 1)
end
