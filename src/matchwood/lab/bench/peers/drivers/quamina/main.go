// Matches events with quamina: driver JOB EVENTS ANSWERS SECONDS.
//
// JOB is {"rules": [[id, [pattern, …]], …]}, EVENTS has an object per line. The ids that match each
// event go to ANSWERS, and the figures to the standard output. Times are processor times of this
// thread, without Go's collector; an event is timed from JSON text to ids.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"quamina.net/go/quamina"
)

// What Linux calls the clock of the processor time of the calling thread.
const threadClock = 3

func main() {
	runtime.LockOSThread()
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	limit, err := strconv.ParseFloat(arguments[3], 64)
	if err != nil {
		return err
	}
	started := processorSeconds()
	matcher, err := matcherOf(arguments[0])
	if err != nil {
		return err
	}
	buildSeconds := processorSeconds() - started

	text, err := os.ReadFile(arguments[1])
	if err != nil {
		return err
	}
	events := bytes.Split(bytes.TrimSuffix(text, []byte("\n")), []byte("\n"))
	done, spent, err := answer(matcher, events, arguments[2], limit)
	if err != nil {
		return err
	}
	best, found := spent, 0
	for done == len(events) && spent < limit {
		started = processorSeconds()
		for _, event := range events {
			ids, err := matcher.MatchesForEvent(event)
			if err != nil {
				return err
			}
			found += len(ids)
		}
		pass := processorSeconds() - started
		best = min(best, pass)
		spent += pass
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"build_seconds":     buildSeconds,
		"events_per_second": float64(done) / best,
		"matches":           found,
	})
}

// matcherOf is a matcher with the rules of a job.
func matcherOf(path string) (*quamina.Quamina, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var job struct {
		Rules [][2]json.RawMessage `json:"rules"`
	}
	if err := json.Unmarshal(text, &job); err != nil {
		return nil, err
	}
	matcher, err := quamina.New()
	if err != nil {
		return nil, err
	}
	for _, rule := range job.Rules {
		var patterns []string
		if err := json.Unmarshal(rule[1], &patterns); err != nil {
			return nil, err
		}
		for _, pattern := range patterns {
			if err := matcher.AddPattern(string(rule[0]), pattern); err != nil {
				return nil, fmt.Errorf("%s: %w", pattern, err)
			}
		}
	}
	return matcher, nil
}

// answer writes the ids that match each event, until the time is up.
func answer(matcher *quamina.Quamina, events [][]byte, path string, limit float64) (int, float64, error) {
	file, err := os.Create(path)
	if err != nil {
		return 0, 0, err
	}
	defer file.Close()
	answers := bufio.NewWriter(file)
	done, spent := 0, 0.0
	for _, event := range events {
		started := processorSeconds()
		ids, err := matcher.MatchesForEvent(event)
		spent += processorSeconds() - started
		if err != nil {
			return 0, 0, err
		}
		for _, id := range ids {
			fmt.Fprintf(answers, "%v ", id)
		}
		fmt.Fprintln(answers)
		done++
		if spent > limit {
			break
		}
	}
	return done, spent, answers.Flush()
}

func processorSeconds() float64 {
	var now syscall.Timespec
	address := uintptr(unsafe.Pointer(&now))
	if _, _, failed := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, threadClock, address, 0); failed != 0 {
		panic(failed)
	}
	return float64(now.Nano()) / 1e9
}
