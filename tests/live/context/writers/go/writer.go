// Goroutines that serve requests with pprof labels, as OpenTelemetry's libraries for profiles set
// them: writer SECONDS LOG (judge.py). Those that log keep their thread; others change it, with
// labels of their own.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	request = 6 * time.Millisecond
	gap     = 2 * time.Millisecond
	loggers = 2
	others  = 3
)

var (
	mutex sync.Mutex
	lines []string
	sink  uint64
)

func burn(d time.Duration) {
	number := uint64(1)
	for until := time.Now().Add(d); time.Now().Before(until); {
		for i := 0; i < 2000; i++ {
			number = number*6364136223846793005 + 1
		}
	}
	sink += number & 1
}

func serve(worker, count int, log bool) {
	trace := fmt.Sprintf("%08x%016x%08x", worker+1, count, 0xabcdef01)
	span := fmt.Sprintf("%08x%08x", 0x10000000+worker, count+1)
	labels := pprof.Labels("trace_id", trace, "span_id", span, "route", fmt.Sprintf("/item/%d", count%5))
	pprof.Do(context.Background(), labels, func(ctx context.Context) {
		begin := time.Now().UnixNano()
		burn(request / 2)
		pprof.Do(ctx, pprof.Labels("inner", "yes"), func(context.Context) { burn(request / 2) })
		end := time.Now().UnixNano()
		if !log {
			return
		}
		mutex.Lock()
		lines = append(lines, fmt.Sprintf("%d %d %d %s %s /item/%d\n", syscall.Gettid(), begin, end, trace, span, count%5))
		mutex.Unlock()
	})
}

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	stop := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	var group sync.WaitGroup
	for worker := 0; worker < loggers+others; worker++ {
		group.Add(1)
		go func(worker int) {
			defer group.Done()
			if worker < loggers {
				runtime.LockOSThread()
			}
			for count := 0; time.Now().Before(stop); count++ {
				serve(worker, count, worker < loggers)
				if worker < loggers {
					begin := time.Now().UnixNano()
					burn(gap)
					end := time.Now().UnixNano()
					mutex.Lock()
					lines = append(lines, fmt.Sprintf("%d %d %d - -\n", syscall.Gettid(), begin, end))
					mutex.Unlock()
				} else {
					time.Sleep(gap)
				}
			}
		}(worker)
	}
	group.Wait()
	file, err := os.Create(os.Args[2])
	if err != nil {
		panic(err)
	}
	out := bufio.NewWriter(file)
	for _, line := range lines {
		out.WriteString(line)
	}
	out.Flush()
	file.Close()
}
