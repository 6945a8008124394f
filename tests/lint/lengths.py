"""Files stay short enough to read at once: a warning above 300 lines, a failure above 500."""

from repository import CPP_SUFFIXES, Problem

WARN_LINES = 300
FAIL_LINES = 500
SUFFIXES = (*CPP_SUFFIXES, ".c", ".py", ".sh", ".ts", ".tsx", ".js", ".css")
# Written by tools, or data.
EXEMPT = ("tests/fixtures/", "web/dist/")


def check(repository):
    problems = []
    for name in repository.files:
        if not name.endswith(SUFFIXES) or name.startswith(EXEMPT):
            continue
        count = len(repository.read(name).splitlines())
        if count > FAIL_LINES:
            problems.append(Problem(name, FAIL_LINES, f"{count} lines: split it by job"))
        elif count > WARN_LINES:
            problems.append(Problem(name, WARN_LINES, f"{count} lines, near the limit of "
                                    f"{FAIL_LINES}", warning=True))
    return problems
