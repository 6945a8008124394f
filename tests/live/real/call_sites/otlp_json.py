"""Stacks out of OTLP profiles in JSON, as `stackray convert` writes them: one batch a line."""

import json


class Batch:
    """One line of OTLP as JSON."""

    def __init__(self, line):
        data = json.loads(line)
        self.tables = data["dictionary"]
        self.strings = self.tables.get("stringTable", [])
        self.resources = data.get("resourceProfiles", [])
        self.stacks = {}

    def text(self, index):
        return self.strings[index] if index else ""

    def frame(self, index):
        """(type, path, address, name) of a location."""
        location = self.tables["locationTable"][index]
        kind = ""
        for attribute in location.get("attributeIndices", ()):
            entry = self.tables["attributeTable"][attribute]
            if self.text(entry.get("keyStrindex", 0)) == "profile.frame.type":
                kind = entry["value"].get("stringValue", "") or self.text(entry["value"].get("stringValueStrindex", 0))
        mapping = self.tables["mappingTable"][location.get("mappingIndex", 0)]
        path = self.text(mapping.get("filenameStrindex", 0)) if location.get("mappingIndex", 0) else ""
        lines = location.get("lines", ())
        name = self.text(self.tables["functionTable"][lines[-1]["functionIndex"]].get("nameStrindex", 0)) if lines else ""
        return kind, path, int(location.get("address", 0)), name

    def stack(self, index):
        if index not in self.stacks:
            self.stacks[index] = [self.frame(i) for i in self.tables["stackTable"][index].get("locationIndices", ())]
        return self.stacks[index]

    def samples(self):
        """(frames leaf first, times, count)."""
        for resource in self.resources:
            for scope in resource.get("scopeProfiles", ()):
                for profile in scope.get("profiles", ()):
                    for sample in profile.get("samples", ()):
                        times = [int(t) for t in sample.get("timestampsUnixNano", ())]
                        yield self.stack(sample.get("stackIndex", 0)), times
