// A Go program that says what the runtime knows of its own code.
//
//	places  random addresses of its text: a line for each function there, innermost first, with address, function, file
//	        and line, and an empty line behind them; before Go 1.23 only the innermost
//	stacks  stacks with inlined functions, frame by frame in that form
//
// Arguments: what, the address of the file's first byte, and for places: count, seed, first and last address of text.
// Addresses are those of the file: the load bias is taken out.
package main

import (
	"bufio"
	"os"
	"runtime"
	"strconv"
	"strings"
)

type shape interface{ area(depth int) int }

type square struct{ side int }

func (s square) area(depth int) int { return outer(depth, s.side) }

var bias uint64
var out = bufio.NewWriter(os.Stdout)

func write(pcs []uintptr) {
	frames := runtime.CallersFrames(pcs)
	for {
		frame, more := frames.Next()
		if frame.Function == "" {
			break
		}
		out.WriteString(strconv.FormatUint(uint64(frame.PC)-bias, 16) + "\t" + frame.Function + "\t" + frame.File + "\t" +
			strconv.Itoa(frame.Line) + "\n")
		if !more {
			break
		}
	}
	out.WriteString("\n")
}

//go:noinline
func note() {
	var pcs [64]uintptr
	write(pcs[:runtime.Callers(1, pcs[:])])
}

func innermost(n int) int {
	if n > 2 {
		note()
	}
	return n + 1
}

func middle(n int) int {
	total := 0
	for i := 0; i < 2; i++ {
		total += innermost(n + i)
	}
	return total
}

func outer(depth, n int) int {
	defer func() { _ = middle(depth) }()
	return middle(n) + innermost(depth)
}

//go:noinline
func calls(s shape) int {
	generic()
	return s.area(3)
}

// Where the file's first byte is loaded, less its address in the file (which the caller says).
func findBias(first uint64) {
	name, err := os.Readlink("/proc/self/exe")
	if err != nil {
		os.Exit(1)
	}
	maps, _ := os.ReadFile("/proc/self/maps")
	for _, line := range strings.Split(string(maps), "\n") {
		if fields := strings.Fields(line); len(fields) > 5 && fields[5] == name && strings.Trim(fields[2], "0") == "" {
			start, _ := strconv.ParseUint(fields[0][:strings.IndexByte(fields[0], '-')], 16, 64)
			bias = start - first
			return
		}
	}
}

func places(count int, state uint64, text, end uint64) {
	for i := 0; i < count; i++ {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		pc := text + bias + state%(end-text)
		// A second address makes the runtime say the inlined functions' callers too.
		write([]uintptr{uintptr(pc) + 1, uintptr(end) + 1<<40})
	}
}

func main() {
	defer out.Flush()
	var numbers []uint64
	for _, text := range os.Args[2:] {
		number, _ := strconv.ParseUint(text, 0, 64)
		numbers = append(numbers, number)
	}
	findBias(numbers[0])
	if os.Args[1] == "stacks" {
		calls(square{len(os.Args)})
		return
	}
	places(int(numbers[1]), numbers[2], numbers[3], numbers[4])
}
