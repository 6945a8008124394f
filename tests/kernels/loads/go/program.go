// A program for the guest: sorts, allocates, grows stacks, asks for the time and goes from goroutine to goroutine for ever, so that
// it is on each kind of stack.
package main

import (
	"fmt"
	"sort"
	"time"
)

type byWeight []int

func (b byWeight) Len() int           { return len(b) }
func (b byWeight) Less(i, j int) bool { return weigh(b[i]) < weigh(b[j]) }
func (b byWeight) Swap(i, j int)      { b[i], b[j] = b[j], b[i] }

//go:noinline
func weigh(n int) int {
	total := 0
	for i := 0; i < 50; i++ {
		total += i * n & 7
	}
	return total
}

//go:noinline
func work(round int) []string {
	numbers := make([]int, 200)
	for i := range numbers {
		numbers[i] = i * 7919 % 200
	}
	sort.Sort(byWeight(numbers))
	var texts []string
	for i := 0; i < 20; i++ {
		texts = append(texts, fmt.Sprintf("%d-%d", round, numbers[i]))
	}
	return texts
}

// A goroutine begins with 2 KiB of stack.
//
//go:noinline
func grow(depth int) int {
	var room [64]int
	room[depth%64] = depth
	if depth == 0 {
		return len(room)
	}
	return grow(depth-1) + room[depth%64]
}

//go:noinline
func askTime() int64 {
	var total int64
	for i := 0; i < 2000; i++ {
		total += time.Now().UnixNano() & 1
	}
	return total
}

func main() {
	kept := map[string]int{}
	results := make(chan int)
	var total int64
	for round := 0; ; round++ {
		for _, text := range work(round) {
			kept[text] = round
		}
		for i := 0; i < 4; i++ {
			go func() { results <- grow(200) }()
		}
		for i := 0; i < 4; i++ {
			total += int64(<-results)
		}
		total += askTime()
		if len(kept) > 20000 || total < 0 {
			kept = map[string]int{}
		}
	}
}
