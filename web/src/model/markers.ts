// What each marker means, in a sentence: shown where the pointer rests on one. A marker stands
// where frames are missing. The longest beginning that fits counts. docs/unwinding.md has the
// theory.
const MEANINGS: readonly (readonly [string, string])[] = [
  ["[cut: rarer stacks]", "Rare stacks end here, because this long a range has no room for them. A shorter range shows them whole."],
  ["[lost: ring full]", "Samples that were taken while the agent had no time to read them. They are counted, and their stacks are gone."],
  ["[lost: scratch busy]", "Samples that interrupted another sample on the same CPU. They are counted, and have no stack."],
  ["[lost: damaged record]", "Samples whose record could not be read. They are counted, and have no stack."],
  ["[lost: not stored]", "Samples that the history could not keep, as on a full disk. They are counted, and their stacks are gone."],
  ["[lost: too many open waits]", "Waits that began while as many others were open as the sampler can keep. They are counted, and have no stack."],
  ["[lost: capture budget]", "Samples of a capture that were beyond what all captures may take together (capture-max-rate). Its rate falls then. They are counted, and have no stack."],
  ["[lost", "Samples that were taken and did not arrive, for the reason that is named. They are counted, and have no stack."],
  ["[truncated: kernel stack too deep]", "The kernel's stack is longer than the sampler keeps. The outer frames are missing."],
  ["[truncated: stack not readable]", "A page of the stack was not in memory, so the callers above are missing."],
  ["[truncated: return address outside all mappings]", "The next return address lies in no mapping: an earlier step went wrong, or the code is gone."],
  ["[truncated: return address in data]", "The next return address lies in memory that cannot be executed: an earlier step went wrong."],
  ["[truncated: frame pointer is 0]", "The code has no unwind tables, and its frame pointer is 0. This may be the outermost frame."],
  ["[truncated: guessed return address is 0]", "The code has no unwind tables, and a guess led to a return address of 0. This may be the outermost frame."],
  ["[truncated: no frame record]", "The code has neither unwind tables nor frame pointers, so its callers cannot be found."],
  ["[truncated: file not loaded]", "The program's unwind tables were not loaded yet when the sample was taken. Later samples are whole."],
  ["[truncated: table not loaded]", "A part of the unwind table was not loaded yet when the sample was taken. Later samples are whole."],
  ["[truncated: unsupported unwind rule]", "The unwind table has a rule here that the sampler does not evaluate."],
  ["[truncated: too deep]", "The stack has more frames than the sampler keeps. The outer frames are missing."],
  ["[truncated: too many mappings]", "The stack goes through more files than one sample can name. The outer frames are missing."],
  ["[truncated: mappings changed meanwhile]", "The process changed its memory map while the stack was followed."],
  ["[truncated: 32-bit code]", "Stacks of 32-bit programs are not followed."],
  ["[truncated: a caller that was guessed]", "A frame of this stack was left by a guess that nothing confirms, so the frames outside of it may not be its callers."],
  ["[truncated: damaged table]", "The unwind table contradicts itself here."],
  ["[truncated: frame does not end above its callee]", "The next frame would not lie above this one, so the walk stopped."],
  ["[truncated: walk took too long]", "A stack of a wait is followed for a few microseconds only, because the CPU waits meanwhile. The outer frames are missing."],
  ["[truncated", "The stack could not be followed further. The outer frames are missing."],
  ["[no stack]", "The sample has neither user nor kernel frames."],
  ["[outside this pid namespace]", "The process belongs to a pid namespace that the agent cannot see into, so its user stack is not followed."],
  ["[unknown jit]", "Machine code in memory of no file: code that a runtime or a library made at run time. Its name is not known."],
  ["[unmapped code]", "The interrupted address lies in no mapping of the process."],
  ["[native stack of these functions]", "The native frames of the interpreted functions above could not be placed among them, and stand below."],
  ["[unsupported runtime]", "An interpreter's frames are here, of a version that cannot be read."],
  ["[stale]", "An interpreter replaced this function's code before its name was read."],
  ["[inode ", "The file could not be opened any more, so its functions have no names."],
  ["[left alone", "A read of this process's memory or of its file did not return, as where a FUSE or network file system does not answer. The agent leaves it alone for a while, so its functions have no names."],
  ["[gone]", "The process ended before this function's name was read."],
  ["[garbage collection]", "The interpreter was collecting garbage."],
];

// Empty: the name is no marker that is known.
export function markerMeaning(name: string): string {
  if (!name.startsWith("[")) return "";
  let meaning = "";
  let longest = 0;
  for (const [start, text] of MEANINGS) {
    if (start.length > longest && name.startsWith(start)) [longest, meaning] = [start.length, text];
  }
  return meaning;
}
