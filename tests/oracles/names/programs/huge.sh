# A shared object of 1 GB ($NAME) of some of the project's sources ($SOURCE): one object of all of
# them, then copies whose symbols have a prefix each, until there is enough.
set -e
least_bytes=${HUGE_BYTES:-1000000000}
for part in symbol_table symbol_scan source_lines elf_image dwarf/debug_file dwarf/unit dwarf/line_table \
		cfi/page_builder cfi/instruction_look cfi/go_frames cfi/x86_instruction; do
	g++ -std=c++20 -O2 -g -fPIC -I"$SOURCE" -c "$SOURCE/symbolizer/$part.cc" -o "part-$(basename $part).o"
done
# Static objects want a symbol that is hidden, and so has to be in each copy.
echo 'void *__dso_handle __attribute__((visibility("hidden")));' | gcc -fPIC -x c -c - -o part-handle.o
ld -r part-*.o -o all.o
# A linker leaves out relocations and strings that stand twice, so what one more copy takes is seen
# by linking it.
for copy in 1 2; do objcopy --prefix-symbols="copy${copy}_" all.o "copy-$copy.o"; done
ld.lld-16 -shared copy-1.o -o one
ld.lld-16 -shared copy-1.o copy-2.o -o two
bytes=$(($(stat -c %s two) - $(stat -c %s one)))
copies=2
while [ $((copies * bytes)) -lt "$least_bytes" ]; do
	copies=$((copies + 1))
	objcopy --prefix-symbols="copy${copies}_" all.o "copy-$copies.o"
done
ld.lld-16 -shared copy-*.o -o "$NAME"
rm copy-*.o part-*.o all.o one two
