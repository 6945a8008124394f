"""How much each kernel's verifier had to do, as one table; the counts lie in the cache folder."""

import glob
import hashlib
import json
import os
import platform

import judgement

SKIPPED = 77  # As ctest knows it.


def facts(release, output):
    return {"release": release, "programs": judgement.programs(output),
            "fields": judgement.fields(output)}


def digest(objects):
    """Names what was counted: counts of another build's objects do not belong into one table."""
    whole = hashlib.sha256()
    for path in objects:
        with open(path, "rb") as file:
            whole.update(file.read())
    return whole.hexdigest()


def keep(folder, release, output, objects):
    """Writes down what verifier_report printed on this kernel for these objects."""
    with open(os.path.join(folder, f"verifier-{release}.json"), "w", encoding="utf-8") as file:
        json.dump({**facts(release, output), "objects": digest(objects)}, file)


def read_kept(folder, objects):
    """What was kept for these objects; says what is left out."""
    kept = []
    for path in sorted(glob.glob(os.path.join(folder, "verifier-*.json"))):
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        if result.get("objects") == digest(objects):
            kept.append(result)
        else:
            print(f"left out: {result['release']} was booted with another build")
    return kept


def table(results):
    """Rows of cells: programs with their instructions, the time, the fields."""
    names = sorted({name for result in results for name in result["programs"]})
    rows = [["verified instructions", *(result["release"] for result in results)]]
    for name in names:
        counts = [result["programs"].get(name, (None,))[0] for result in results]
        rows.append([name, *("-" if count is None else f"{count:,}" for count in counts)])
    times = [sum(time for _, time in result["programs"].values()) for result in results]
    rows.append(["verification, ms", *(f"{time / 1000:,.0f}" for time in times)])
    for name in sorted({name for result in results for name in result["fields"]}):
        rows.append([name, *("yes" if result["fields"].get(name) else "-" for result in results)])
    return rows


def show(folder, report_here, objects):
    """Prints the table of the kernels these objects met and of this host. Returns the exit code."""
    results = [facts(f"{platform.release()} (host)", report_here), *read_kept(folder, objects)]
    results = [result for result in results if result["programs"]]
    if not results:
        print("no BPF on this host, and no other kernel has been booted yet")
        return SKIPPED
    results.sort(key=lambda result: judgement.version_of(result["release"]))
    rows = table(results)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("  ".join([row[0].ljust(widths[0]), *cells]))
    count, name, release = max((count, name, result["release"]) for result in results
                               for name, (count, _) in result["programs"].items())
    print(f"measured: {len(results)} kernels; most verified instructions: {count:,} ({name} on "
          f"{release}), of {judgement.MOST_INSTRUCTIONS:,} allowed here")
    return 1 if count > judgement.MOST_INSTRUCTIONS else 0
