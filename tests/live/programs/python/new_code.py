"""Makes functions, calls them and drops them, all the time: their memory is reused."""
import itertools

SOURCE = """
def made_{0}(n):
    total = 0
    for i in range(n):
        total += i * i
    return total
made_{0}(400)
"""

for number in itertools.count():
    exec(compile(SOURCE.format(number), "<made>", "exec"), {})
    eval("(lambda n: sum(x * x for x in range(n)))(300)")
